-- Access that is about to be sent; the record stays as it stands.
-- When the last intent was not confirmed, nobody knows what is held: -1 is equal to no digest.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE delivery SET seq = $4, sent_access = $5, held_access = CASE WHEN held_access <> sent_access THEN -1 ELSE held_access END, intent_at = $6 WHERE document = $1 AND component = $2 AND output = $3
