-- It deletes nothing; the first reason counts.
UPDATE delta_run SET veto = coalesce(veto, $3) WHERE job = $1 AND epoch = $2
