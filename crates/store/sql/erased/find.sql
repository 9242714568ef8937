-- Whether a document was erased.
SELECT job, parent_hash, key_hash, name, at, erased_by, done_at FROM erased WHERE job = $1 AND parent_hash = $2 AND key_hash = $3
