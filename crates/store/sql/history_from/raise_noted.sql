-- The same, where it is noted at all.
UPDATE history_from SET at = $3 WHERE job = $1 AND kind = $2 AND at < $3
