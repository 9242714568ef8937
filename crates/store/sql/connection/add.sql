-- A new connection.
INSERT INTO connection (handle, role, kind, name, settings, generation, changed_at, authority_group)
VALUES ($1, $2, $3, $4, $5, 0, $6, $7)
