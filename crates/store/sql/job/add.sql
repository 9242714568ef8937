-- move: job Create
-- A new job.
INSERT INTO job (handle, name, repository, root, state, run, definition, revision, created_at, scheduled_at)
VALUES ($1, $2, $3, $4, 'resting', 0, $5, 1, $6, $6)
