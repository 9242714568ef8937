-- no move: what a visit found; the move is that of its work row
-- What a visit found.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE document SET version = $2, access = $3, settings = $4, identity = $5, class = $6, place = $7, changed_run = $8 WHERE id = $1
