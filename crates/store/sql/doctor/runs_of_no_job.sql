-- Runs, counters, marks and blind spots of jobs that are not there.
SELECT DISTINCT r.job, CAST(NULL AS BIGINT) FROM (SELECT job FROM run UNION ALL SELECT job FROM tally UNION ALL SELECT job FROM listed_ids
 UNION ALL SELECT job FROM blind_spot) r LEFT JOIN job j ON j.handle = r.job WHERE j.handle IS NULL LIMIT $1
