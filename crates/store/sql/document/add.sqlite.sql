-- move: document Meet
-- New documents.
-- Differs from PostgreSQL: one row per call; with a list, SQLite would note each page that it changes to take it back.
INSERT INTO document (id, job, parent, own, version, access, settings, identity, place, changed_run) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
