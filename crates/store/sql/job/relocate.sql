-- no move: its source only
-- The source of a job is elsewhere now.
UPDATE job SET root = $2, definition = $3, revision = revision + 1 WHERE handle = $1 AND revision = $4
