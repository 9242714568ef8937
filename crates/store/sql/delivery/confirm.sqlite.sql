-- The output holds what was sent; a newer intent is left alone.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE delivery SET held = sent, held_access = sent_access, confirmed_at = $4, outcome = NULL WHERE document = $1 AND output = $2 AND seq = $3
