-- A new container.
INSERT INTO container (id, connection, parent, name, identity, acl) VALUES ($1, $2, $3, $4, $5, $6)
