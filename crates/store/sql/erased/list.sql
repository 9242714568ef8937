-- What was erased, behind a place, in no order of names.
SELECT job, parent_hash, key_hash, name, at, erased_by, done_at FROM erased WHERE (job, parent_hash, key_hash) > ($1, $2, $3)
ORDER BY job, parent_hash, key_hash LIMIT $4
