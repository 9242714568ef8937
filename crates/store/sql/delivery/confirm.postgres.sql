-- The output holds what was sent; a newer intent is left alone.
-- Differs from SQLite: one statement per batch, lists as arrays.
UPDATE delivery SET confirmed = intended, confirmed_acl = intended_acl, confirmed_at = c5, outcome = NULL FROM {rows:bigint,bigint,bigint,bigint,bigint} WHERE document = c1 AND component = c2 AND output = c3 AND seq = c4
