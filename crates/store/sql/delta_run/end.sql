-- It is over.
UPDATE delta_run SET state = $3, ended_at = $4 WHERE job = $1 AND epoch = $2
