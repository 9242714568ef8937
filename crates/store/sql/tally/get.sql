-- A counter of a job.
SELECT n FROM tally WHERE job = $1 AND name = $2
