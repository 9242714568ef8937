-- All containers of a connection, those that were replaced included.
SELECT id, parent, name FROM container WHERE connection = $1 ORDER BY id
