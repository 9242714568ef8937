-- Names of new documents.
-- Differs from PostgreSQL: one row per call; with a list, SQLite would note each page that it changes to take it back.
INSERT INTO document_text (id, key_text) VALUES ($1, $2)
