-- How many records of a job are to be there.
SELECT count(*) FROM record WHERE job = $1 AND present = 1
