-- A channel tells something more.
UPDATE channel SET serial = serial + 1 WHERE id = $1 RETURNING serial
