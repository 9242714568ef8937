-- Containers are found by their names: a run reads those that it meets, and not all that there are.
CREATE INDEX container_name ON container /*hash*/ (name) WHERE gone_at IS NULL;
