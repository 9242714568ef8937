-- The output holds what was sent; a newer intent is left alone.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE delivery SET confirmed = intended, confirmed_acl = intended_acl, confirmed_at = $5, outcome = NULL WHERE document = $1 AND component = $2 AND output = $3 AND seq = $4
