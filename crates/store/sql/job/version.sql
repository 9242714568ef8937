-- How many jobs there are, how often their definitions changed, and the newest one.
SELECT COUNT(*), CAST(COALESCE(SUM(revision), 0) AS BIGINT), COALESCE(MAX(handle), 0) FROM job
