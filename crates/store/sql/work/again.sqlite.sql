-- move: document Retry
-- Another attempt at a later time.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE work SET due = $2, cause = CASE WHEN cause = 'access' THEN cause ELSE 'retry' END WHERE document = $1
