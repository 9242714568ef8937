-- The output holds nothing of this owner any more.
-- Differs from SQLite: one statement per batch, lists as arrays.
DELETE FROM delivery USING {rows:bigint,bigint,bigint,bigint} WHERE document = c1 AND component = c2 AND output = c3 AND seq = c4
