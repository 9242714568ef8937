-- All classes of a connection.
SELECT id, digest, level FROM access_class WHERE connection = $1
