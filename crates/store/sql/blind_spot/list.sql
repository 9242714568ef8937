-- Scopes that a run could not read.
SELECT scope, cause, message FROM blind_spot WHERE job = $1 AND run = $2 ORDER BY number
