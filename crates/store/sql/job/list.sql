-- All jobs.
SELECT handle, name, repository, root, state, run, definition, revision, reader, error FROM job ORDER BY name
