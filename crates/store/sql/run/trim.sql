-- Forgets old runs.
DELETE FROM run WHERE job = $1 AND number < $2
