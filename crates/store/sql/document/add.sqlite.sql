-- move: document Meet
-- New documents.
-- Differs from PostgreSQL: one row per call; with a list, SQLite would note each page that it changes to take it back.
INSERT INTO document (id, job, parent_hash, key_hash, version, access, settings, identity, container, changed_run) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
