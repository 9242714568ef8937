-- What became of a change.
UPDATE audit SET outcome = $2 WHERE number = $1
