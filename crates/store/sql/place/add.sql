-- A new place.
INSERT INTO place (id, connection, parent, name, identity, level) VALUES ($1, $2, $3, $4, $5, $6)
