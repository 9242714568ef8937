-- Ids that a run met.
INSERT INTO seen (job, run, number, ids) VALUES ($1, $2, $3, $4)
