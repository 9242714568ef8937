-- The held set of a run.
SELECT held FROM run WHERE job = $1 AND number = $2 AND guard = 'held'
