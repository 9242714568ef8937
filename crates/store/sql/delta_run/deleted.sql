-- It deleted so many records more.
UPDATE delta_run SET deleted = deleted + $3, seen_at = $4 WHERE job = $1 AND epoch = $2
