-- The client of a channel has its reports up to one.
UPDATE channel SET acked = CASE WHEN acked > $2 THEN acked ELSE $2 END, seen_at = $3 WHERE id = $1
