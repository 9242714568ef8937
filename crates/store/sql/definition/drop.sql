-- What was told and is as if it had never been.
DELETE FROM definition WHERE output = $1 AND kind = 'also' AND sent = $2 AND held = $2
