-- What is about to be told, written before it is told.
INSERT INTO definition (output, kind, id, job, seq, intended) SELECT c1, c2, c3, c4, c5, c6 FROM {rows:bigint,text,bigint,bigint,bigint,bigint}
WHERE true ON CONFLICT (output, kind, id, job) DO UPDATE SET seq = excluded.seq, intended = excluded.intended
