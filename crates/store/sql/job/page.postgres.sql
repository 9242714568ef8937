-- Jobs behind a name, at most so many.
-- Differs from SQLite: a server may sort as its country does; a cursor needs the order of bytes.
SELECT handle, name, repository, root, state, run, definition, revision, reader, error,
  (SELECT kind FROM connection WHERE connection.handle = job.repository), paused, scheduled_at,
  restart, rereads
FROM job WHERE name COLLATE "C" > $1 ORDER BY name COLLATE "C" LIMIT $2
