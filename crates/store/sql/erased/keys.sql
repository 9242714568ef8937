-- What no run of a job takes in.
SELECT parent_hash, key_hash FROM erased WHERE job = $1
