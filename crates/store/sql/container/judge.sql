-- What a container was listed with last.
UPDATE container SET acl = $2 WHERE id = $1
