-- Nothing of it is open.
UPDATE delta_run SET drained_at = $3 WHERE job = $1 AND epoch = $2 AND drained_at IS NULL
