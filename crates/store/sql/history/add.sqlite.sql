-- What became of documents; the same said twice at one time is one.
-- Differs from PostgreSQL: one row per call beats a list here.
INSERT INTO history (job, at, document, outcome, run, code, name, message, bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (job, at, document, outcome) DO NOTHING
