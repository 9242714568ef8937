-- Documents of a job in key order, from the key index alone.
SELECT parent_hash, key_hash, id FROM document WHERE job = $1 AND (parent_hash, key_hash) > ($2, $3) ORDER BY parent_hash, key_hash LIMIT $4
