-- How many visits of a job are due and were not made.
SELECT count(*) FROM queue WHERE job = $1 AND due <= $2
