-- All places of a connection, those that were replaced included.
SELECT id, parent, name FROM place WHERE connection = $1 ORDER BY id
