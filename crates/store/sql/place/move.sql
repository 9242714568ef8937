-- A place has another parent.
UPDATE place SET parent = $2 WHERE id = $1
