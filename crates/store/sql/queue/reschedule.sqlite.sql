-- move: document Retry
-- Another attempt at a later time.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE queue SET due = $2, reason = CASE WHEN reason = 'access' THEN reason ELSE 'retry' END WHERE document = $1
