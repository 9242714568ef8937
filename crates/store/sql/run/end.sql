-- The run is over, with its counts.
UPDATE run SET ended_at = $3, outcome = $4, counts = $5, error = $6 WHERE job = $1 AND number = $2
