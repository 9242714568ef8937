-- The latest runs of a job.
SELECT number, kind, started_at, listed_at, ended_at, outcome, guard, counts, error, begun_by FROM run WHERE job = $1 ORDER BY number DESC LIMIT $2
