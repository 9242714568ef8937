-- Containers of a connection by their names.
-- Differs from SQLite: an index by hash, which takes names of any length, is asked for one name at a time; adding nothing keeps it from
-- walking all containers of the connection.
SELECT c.id, c.parent, c.name, c.identity, c.acl FROM unnest($2::text[]) AS asked(name) JOIN container c ON c.name = asked.name
WHERE c.connection + 0 = $1 AND c.gone_at IS NULL
