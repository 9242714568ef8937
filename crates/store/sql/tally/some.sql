-- A counter of each of these jobs.
SELECT job, n FROM tally WHERE job IN any_of($1) AND name = $2
