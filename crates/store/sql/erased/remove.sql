-- A person lets it in again.
DELETE FROM erased WHERE job = $1 AND parent_hash = $2 AND key_hash = $3
