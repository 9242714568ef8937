-- What became of tickets of a job, after a report, in the order in which that was known.
SELECT number, job, key_text, op, accepted_at, report, completed_at, outcome, code, message, channel FROM ticket
WHERE job = $1 AND report > $2 ORDER BY report LIMIT $3
