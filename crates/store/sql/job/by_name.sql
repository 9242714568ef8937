-- The job of that name.
SELECT handle, name, repository, root, state, run, definition, revision, reader, error FROM job WHERE name = $1
