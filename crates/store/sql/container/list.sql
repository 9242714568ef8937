-- All containers of a connection.
SELECT id, parent, name, identity, acl FROM container WHERE connection = $1 AND gone_at IS NULL ORDER BY id
