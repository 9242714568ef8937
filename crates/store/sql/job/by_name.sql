-- The job of that name.
SELECT handle, name, repository, root, state, run, definition, revision, reader, error,
  (SELECT kind FROM connection WHERE connection.handle = job.repository), paused, scheduled_at,
  restart, rereads
FROM job WHERE name = $1
