-- The first date of a job beyond a time.
SELECT MIN(due) FROM next_look WHERE job = $1 AND due > $2
