-- One job.
SELECT handle, name, repository, root, state, run, definition, revision, reader, error,
  (SELECT kind FROM connection WHERE connection.handle = job.repository), paused, scheduled_at,
  restart, rereads
FROM job WHERE handle = $1
