-- Other settings of a connection, as a declaration has them.
UPDATE connection SET settings = $2, changed_at = $3 WHERE handle = $1
