-- A new connection.
INSERT INTO connection (handle, role, kind, name, settings, generation, changed_at) VALUES ($1, $2, $3, $4, $5, 0, $6)
