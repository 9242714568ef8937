-- What became of documents; the same said twice at one time is one.
-- Differs from SQLite: one statement per batch, lists as arrays.
INSERT INTO history (job, at, document, outcome, run, code, name, message, bytes)
SELECT c1, c2, c3, c4, c5, c6, c7, c8, c9 FROM {rows:bigint,bigint,bigint,text,bigint,text,text,text,bigint} WHERE true
ON CONFLICT (job, at, document, outcome) DO NOTHING
