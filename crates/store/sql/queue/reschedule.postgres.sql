-- move: document Retry
-- Another attempt at a later time.
-- Differs from SQLite: one statement per batch, lists as arrays.
UPDATE queue SET due = c2, reason = CASE WHEN reason = 'access' THEN reason ELSE 'retry' END FROM {rows:bigint,bigint} WHERE document = c1
