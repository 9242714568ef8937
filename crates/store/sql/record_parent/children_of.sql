-- What is in a compound by its key, a page of it, after one.
SELECT document FROM record_parent WHERE job = $1 AND parent_hash = $2 AND key_hash = $3 AND document > $4 ORDER BY document LIMIT $5
