-- Somebody is to be told of the end of a run; told of it once.
INSERT INTO notice (id, at, job, run, event, notifier, body, state, attempts, due) VALUES ($1, $2, $3, $4, $5, $6, $7, 'waiting', 0, $2)
ON CONFLICT (id) DO NOTHING
