-- Containers and all that are above them.
WITH RECURSIVE up(id, acl, parent) AS (SELECT id, acl, parent FROM container WHERE id IN any_of($1)
 UNION SELECT p.id, p.acl, p.parent FROM up JOIN container p ON p.id = up.parent)
SELECT id, acl, parent FROM up
