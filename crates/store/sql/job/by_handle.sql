-- One job.
SELECT handle, name, repository, root, state, run, definition, revision, reader, error FROM job WHERE handle = $1
