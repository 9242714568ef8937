-- What is wrong with documents; the first time stays, but where it is missing now, or answers so for now, and did not before.
-- Differs from SQLite: one statement per batch, lists as arrays.
INSERT INTO failure (document, job, kind, attempts, attempts_max, first_at, code, message, give_up_at)
SELECT c1, c2, c3, c4, c5, c6, c7, c8, c9 FROM {rows:bigint,bigint,text,bigint,bigint,bigint,text,text,bigint}
ON CONFLICT (document) DO UPDATE SET kind = excluded.kind, attempts = excluded.attempts, code = excluded.code, message = excluded.message,
 give_up_at = excluded.give_up_at,
 first_at = CASE WHEN excluded.code IN ('missing', 'for_now') AND failure.code <> excluded.code THEN excluded.first_at ELSE failure.first_at END
