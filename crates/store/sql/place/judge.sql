-- What a place was listed with last.
UPDATE place SET level = $2 WHERE id = $1
