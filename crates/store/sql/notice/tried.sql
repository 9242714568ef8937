-- What came of an attempt.
UPDATE notice SET state = $2, attempts = attempts + 1, due = $3, error = $4 WHERE id = $1 AND state = 'waiting'
