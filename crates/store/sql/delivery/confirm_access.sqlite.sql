-- The output holds the access that was sent; its content is as it was.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE delivery SET confirmed_acl = intended_acl, confirmed_at = $5, outcome = CASE WHEN confirmed = intended THEN NULL ELSE outcome END WHERE document = $1 AND component = $2 AND output = $3 AND seq = $4
