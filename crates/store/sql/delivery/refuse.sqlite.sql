-- The output answered with no.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE delivery SET outcome = $4 WHERE document = $1 AND output = $2 AND seq = $3
