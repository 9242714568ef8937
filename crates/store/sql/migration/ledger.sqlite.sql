-- Whether there is a list of schema steps.
-- Differs from PostgreSQL: the catalogue has another name.
SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'migration'
