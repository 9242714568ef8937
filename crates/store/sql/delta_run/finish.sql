-- It is over, and is drained when no ticket up to this one is open.
UPDATE delta_run SET state = 'finished', ended_at = $3, last_ticket = $4 WHERE job = $1 AND epoch = $2
