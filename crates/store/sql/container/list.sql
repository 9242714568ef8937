-- Containers of a connection, the first ones.
SELECT id, parent, name, identity, acl FROM container WHERE connection = $1 AND gone_at IS NULL ORDER BY id LIMIT $2
