-- The output holds the access that was sent; its content is as it was.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE delivery SET held_access = sent_access, confirmed_at = $4 WHERE document = $1 AND output = $2 AND seq = $3
