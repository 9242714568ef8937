-- no move: who may see it, written with the intent that tells an output
-- Who may see documents from now on.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE document SET class = $2, place = $3 WHERE id = $1
