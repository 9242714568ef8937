-- Documents whose acl or container is not there: nobody finds them.
SELECT d.id, d.job FROM document d LEFT JOIN acl c ON c.id = d.acl LEFT JOIN container p ON p.id = d.container
WHERE (d.acl IS NOT NULL AND c.id IS NULL) OR (d.container IS NOT NULL AND p.id IS NULL) LIMIT $1
