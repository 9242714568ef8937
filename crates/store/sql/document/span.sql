-- How many documents a job has, and the first and the last of their ids.
SELECT count(*), min(id), max(id) FROM document WHERE job = $1
