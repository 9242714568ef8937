-- The counters of these jobs.
SELECT job, name, n FROM tally WHERE job IN any_of($1)
