-- Whether there is a list of schema steps.
-- Differs from SQLite: the catalogue has another name.
SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = current_schema() AND tablename = 'migration'
