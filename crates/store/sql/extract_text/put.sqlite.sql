-- A text; one that is there already is the same.
-- Differs from PostgreSQL: who writes is alone.
INSERT INTO extract_text (digest, bytes) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING
