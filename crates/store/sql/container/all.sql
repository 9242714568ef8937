-- All containers, for judging.
SELECT id, parent, acl FROM container ORDER BY id
