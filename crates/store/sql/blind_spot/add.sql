-- A scope that could not be read.
INSERT INTO blind_spot (job, run, number, scope, cause, message) VALUES ($1, $2, $3, $4, $5, $6)
