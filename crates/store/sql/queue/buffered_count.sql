-- How many changed records of a job are buffered, and since when the first of them.
SELECT count(*), MIN(r.buffered_since) FROM queue q JOIN record r ON r.document = q.document
WHERE q.job = $1 AND q.due > $2 AND q.due < 9223372036854775807 AND q.reason = 'changed'
