-- The counters of a run change with removals that are confirmed later.
UPDATE run SET counts = $3 WHERE job = $1 AND number = $2
