-- A place was replaced by another under its name.
UPDATE place SET gone_at = $2 WHERE id = $1
