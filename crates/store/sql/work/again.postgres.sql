-- move: document Retry
-- Another attempt at a later time.
-- Differs from SQLite: one statement per batch, lists as arrays.
UPDATE work SET due = c2, cause = CASE WHEN cause = 'access' THEN cause ELSE 'retry' END FROM {rows:bigint,bigint} WHERE document = c1
