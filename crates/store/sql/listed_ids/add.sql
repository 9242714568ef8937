-- Ids that a run met.
INSERT INTO listed_ids (job, run, number, ids) VALUES ($1, $2, $3, $4)
