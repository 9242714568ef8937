-- The output answered with no.
-- Differs from SQLite: one statement per batch, lists as arrays.
UPDATE delivery SET outcome = c4 FROM {rows:bigint,bigint,bigint,text} WHERE document = c1 AND output = c2 AND seq = c3
