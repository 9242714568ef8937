-- Adds to a counter of a job.
INSERT INTO tally (job, name, n) VALUES ($1, $2, $3) ON CONFLICT (job, name) DO UPDATE SET n = tally.n + excluded.n
