-- A channel that is in a state comes into another one.
UPDATE channel SET state = $3, reason = CASE WHEN reason = '' THEN $4 ELSE reason END, changed_at = $5 WHERE id = $1 AND state = $2
