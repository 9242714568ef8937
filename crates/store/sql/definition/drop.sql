-- What was told and is as if it had never been.
DELETE FROM definition WHERE output = $1 AND kind = 'also' AND intended = $2 AND confirmed = $2
