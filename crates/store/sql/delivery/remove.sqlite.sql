-- The output holds nothing of this owner any more.
-- Differs from PostgreSQL: one row per call beats a list here.
DELETE FROM delivery WHERE document = $1 AND component = $2 AND output = $3 AND seq = $4
