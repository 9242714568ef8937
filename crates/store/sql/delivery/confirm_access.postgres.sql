-- The output holds the access that was sent; its content is as it was.
-- Differs from SQLite: one statement per batch, lists as arrays.
UPDATE delivery SET confirmed_acl = intended_acl, confirmed_at = c5, outcome = CASE WHEN confirmed = intended THEN NULL ELSE outcome END FROM {rows:bigint,bigint,bigint,bigint,bigint} WHERE document = c1 AND component = c2 AND output = c3 AND seq = c4
