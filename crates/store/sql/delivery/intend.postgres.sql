-- What is about to be sent, written before it is sent.
-- When the last intent was not confirmed, nobody knows what is held: -1 is equal to no digest.
-- Differs from SQLite: one statement per batch, lists as arrays.
INSERT INTO delivery (document, component, output, address_parent, address, seq, sent, sent_access, intent_at)
SELECT c1, c2, c3, c4, c5, c6, c7, c8, c9 FROM {rows:bigint,bigint,bigint,bigint,bigint,bigint,bigint,bigint,bigint}
ON CONFLICT (document, component, output) DO UPDATE SET seq = excluded.seq, sent = excluded.sent, sent_access = excluded.sent_access,
 held = CASE WHEN delivery.held <> delivery.sent THEN -1 ELSE delivery.held END,
 held_access = CASE WHEN delivery.held_access <> delivery.sent_access THEN -1 ELSE delivery.held_access END,
 intent_at = excluded.intent_at, outcome = NULL, address_parent = excluded.address_parent, address = excluded.address
