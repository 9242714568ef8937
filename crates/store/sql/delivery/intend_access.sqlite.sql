-- Access that is about to be sent; the record stays as it stands.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE delivery SET seq = $3, sent_access = $4, intent_at = $5 WHERE document = $1 AND output = $2
