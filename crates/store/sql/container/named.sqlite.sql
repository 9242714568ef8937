-- Containers of a connection by their names.
-- Differs from PostgreSQL: its own words for lists; a plus keeps it from walking all containers of the connection.
SELECT id, parent, name, identity, acl FROM container WHERE +connection = $1 AND gone_at IS NULL AND name IN any_of($2)
