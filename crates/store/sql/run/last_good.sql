-- The latest run of a job that ended well.
SELECT number, kind, started_at, listed_at, ended_at, outcome, guard, counts, error, begun_by FROM run
WHERE job = $1 AND outcome = 'done' ORDER BY number DESC LIMIT 1
