-- The newest time that the store knows.
SELECT max(t.at) FROM (SELECT max(started_at) AS at FROM run UNION ALL SELECT max(ended_at) FROM run UNION ALL SELECT max(listed_at) FROM run
 UNION ALL SELECT max(created_at) FROM job UNION ALL SELECT max(changed_at) FROM connection) t
