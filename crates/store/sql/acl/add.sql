-- A new acl.
INSERT INTO acl (id, connection, digest, list) VALUES ($1, $2, $3, $4)
