-- Runs of all jobs that began since a time and before a place, the latest first.
SELECT number, kind, started_at, listed_at, ended_at, outcome, guard, counts, error, begun_by, job FROM run
WHERE started_at >= $1 AND (started_at, job, number) < ($2, $3, $4) ORDER BY started_at DESC, job DESC, number DESC LIMIT $5
