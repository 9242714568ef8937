-- Nothing of it is known or held any more.
UPDATE erased SET done_at = $4 WHERE job = $1 AND parent_hash = $2 AND key_hash = $3 AND done_at IS NULL
