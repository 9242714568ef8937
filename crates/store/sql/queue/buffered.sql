-- Changed documents of a job whose visits are buffered, after one, by id.
SELECT document FROM queue WHERE job = $1 AND document > $2 AND due > $3 AND due < 9223372036854775807 AND reason = 'changed'
ORDER BY document LIMIT $4
