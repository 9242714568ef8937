-- A text; one that is there already is the same, and whoever lets go of it has to wait for the document that comes.
-- Differs from SQLite: other transactions may write meanwhile.
INSERT INTO extract_text (digest, bytes) VALUES ($1, $2) ON CONFLICT (digest) DO UPDATE SET digest = excluded.digest
