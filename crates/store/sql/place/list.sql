-- All places of a connection.
SELECT id, parent, name, identity, level FROM place WHERE connection = $1 AND gone_at IS NULL ORDER BY id
