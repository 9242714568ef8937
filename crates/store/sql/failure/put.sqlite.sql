-- What is wrong with documents; the first time stays, but where it is missing now, or answers so for now, and did not before.
-- Differs from PostgreSQL: one row per call beats a list here.
INSERT INTO failure (document, job, kind, attempts, attempts_max, first_at, code, message, give_up_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (document) DO UPDATE SET kind = excluded.kind, attempts = excluded.attempts, code = excluded.code, message = excluded.message,
 give_up_at = excluded.give_up_at,
 first_at = CASE WHEN excluded.code IN ('missing', 'for_now') AND failure.code <> excluded.code THEN excluded.first_at ELSE failure.first_at END
