-- The counters of a job.
SELECT name, n FROM tally WHERE job = $1
