-- Runs of a job that began since a time and before a number, the latest first.
SELECT number, kind, started_at, listed_at, ended_at, outcome, guard, counts, error, begun_by, job FROM run WHERE job = $1 AND started_at >= $2 AND number < $3 ORDER BY number DESC LIMIT $4
