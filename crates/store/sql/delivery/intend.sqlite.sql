-- What is about to be sent, written before it is sent.
-- When the last intent was not confirmed, nobody knows what is held: -1 is equal to no digest.
-- Differs from PostgreSQL: one row per call beats a list here.
INSERT INTO delivery (document, component, output, address_parent, address, seq, intended, intended_acl, intent_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (document, component, output) DO UPDATE SET seq = excluded.seq, intended = excluded.intended, intended_acl = excluded.intended_acl,
 confirmed = CASE WHEN delivery.confirmed <> delivery.intended THEN -1 ELSE delivery.confirmed END,
 confirmed_acl = CASE WHEN delivery.confirmed_acl <> delivery.intended_acl THEN -1 ELSE delivery.confirmed_acl END,
 intent_at = excluded.intent_at, outcome = NULL, address_parent = excluded.address_parent, address = excluded.address
