-- Documents of a job in key order, from the key index alone.
SELECT parent, own, id FROM document WHERE job = $1 AND (parent, own) > ($2, $3) ORDER BY parent, own LIMIT $4
