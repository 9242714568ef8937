-- What a run that follows links goes by, and how far it came.
SELECT basis, seeded_at, started_at, outcome, kind FROM run WHERE job = $1 AND number = $2
