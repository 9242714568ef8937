-- The latest run of each of these jobs.
SELECT job, number, kind, started_at, listed_at, ended_at, outcome, guard, counts, error, begun_by FROM run
WHERE job IN any_of($1) AND number = (SELECT max(latest.number) FROM run latest WHERE latest.job = run.job)
