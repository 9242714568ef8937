-- The output holds the access that was sent; its content is as it was.
-- Differs from SQLite: one statement per batch, lists as arrays.
UPDATE delivery SET held_access = sent_access, confirmed_at = c5, outcome = CASE WHEN held = sent THEN NULL ELSE outcome END FROM {rows:bigint,bigint,bigint,bigint,bigint} WHERE document = c1 AND component = c2 AND output = c3 AND seq = c4
