-- Its client gave a sign of life, and could not read so many records.
UPDATE delta_run SET seen_at = $3, touched = touched + $4 WHERE job = $1 AND epoch = $2 AND state = 'open'
