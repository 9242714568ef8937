-- no move: who may see it, written with the intent that tells an output
-- Who may see documents from now on.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE document SET acl = $2, container = $3 WHERE id = $1
