-- The output holds nothing of this owner any more.
-- Differs from PostgreSQL: one row per call beats a list here.
DELETE FROM delivery WHERE document = $1 AND output = $2 AND seq = $3
