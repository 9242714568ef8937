-- Jobs behind a name, at most so many.
-- Differs from PostgreSQL: texts are compared by their bytes anyway.
SELECT handle, name, repository, root, state, run, definition, revision, reader, error,
  (SELECT kind FROM connection WHERE connection.handle = job.repository), paused, scheduled_at,
  restart, rereads
FROM job WHERE name > $1 ORDER BY name LIMIT $2
