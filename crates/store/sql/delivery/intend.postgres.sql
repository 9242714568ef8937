-- What is about to be sent, written before it is sent.
-- When the last intent was not confirmed, nobody knows what is held: -1 is equal to no digest.
-- Differs from SQLite: one statement per batch, lists as arrays.
INSERT INTO delivery (document, component, output, address_parent, address, seq, intended, intended_acl, intent_at)
SELECT c1, c2, c3, c4, c5, c6, c7, c8, c9 FROM {rows:bigint,bigint,bigint,bigint,bigint,bigint,bigint,bigint,bigint}
ON CONFLICT (document, component, output) DO UPDATE SET seq = excluded.seq, intended = excluded.intended, intended_acl = excluded.intended_acl,
 confirmed = CASE WHEN delivery.confirmed <> delivery.intended THEN -1 ELSE delivery.confirmed END,
 confirmed_acl = CASE WHEN delivery.confirmed_acl <> delivery.intended_acl THEN -1 ELSE delivery.confirmed_acl END,
 intent_at = excluded.intent_at, outcome = NULL, address_parent = excluded.address_parent, address = excluded.address
