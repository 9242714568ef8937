-- The counters of a run.
SELECT counts FROM run WHERE job = $1 AND number = $2
