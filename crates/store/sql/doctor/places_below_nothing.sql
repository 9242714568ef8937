-- Containers below one that is not there, or whose own acl is not there: nobody finds anything in them.
SELECT p.id, p.parent FROM container p LEFT JOIN container above ON above.id = p.parent LEFT JOIN acl c ON c.id = p.acl
WHERE (p.parent IS NOT NULL AND above.id IS NULL) OR c.id IS NULL LIMIT $1
