-- The same for every job of a connection, and for entries of jobs that are gone.
-- Differs from SQLite: a job that goes is waited for, and one that stays goes after this.
WITH there AS (SELECT handle FROM job WHERE repository = $2 FOR KEY SHARE)
INSERT INTO container_pending (container, job, acl) SELECT $1, j.handle, $3 FROM (SELECT handle FROM there UNION ALL SELECT 0) j
WHERE true ON CONFLICT DO NOTHING
