-- Somebody is about to change something.
INSERT INTO audit (number, at, caller, operation, job, outcome) VALUES ($1, $2, $3, $4, $5, $6)
