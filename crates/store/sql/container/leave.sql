-- A container was replaced by another under its name.
UPDATE container SET gone_at = $2 WHERE id = $1
