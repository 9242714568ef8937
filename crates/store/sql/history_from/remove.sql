-- Forgets it with a job that goes.
DELETE FROM history_from WHERE job = $1
