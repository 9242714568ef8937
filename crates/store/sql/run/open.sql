-- A new run.
INSERT INTO run (job, number, kind, started_at, begun_by) VALUES ($1, $2, $3, $4, $5)
