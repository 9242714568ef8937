-- A new run.
INSERT INTO run (job, number, kind, started_at) VALUES ($1, $2, $3, $4)
