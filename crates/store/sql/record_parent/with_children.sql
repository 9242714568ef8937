-- Those of keys in which something is.
SELECT DISTINCT parent_hash, key_hash FROM record_parent WHERE job = $1 AND key_hash IN any_of($2)
