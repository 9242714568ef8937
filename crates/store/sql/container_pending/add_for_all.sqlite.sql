-- The same for every job of a connection, and for entries of jobs that are gone.
-- Differs from PostgreSQL: no job goes meanwhile.
INSERT INTO container_pending (container, job, acl) SELECT $1, j.handle, $3 FROM (SELECT handle FROM job WHERE repository = $2 UNION ALL SELECT 0) j
WHERE true ON CONFLICT DO NOTHING
