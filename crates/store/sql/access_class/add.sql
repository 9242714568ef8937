-- A new class.
INSERT INTO access_class (id, connection, digest, level) VALUES ($1, $2, $3, $4)
