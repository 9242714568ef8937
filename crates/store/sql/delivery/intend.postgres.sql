-- What is about to be sent, written before it is sent.
-- Differs from SQLite: one statement per batch, lists as arrays.
INSERT INTO delivery (document, output, address_parent, address, seq, sent, sent_access, intent_at)
SELECT c1, c2, c3, c4, c5, c6, c7, c8 FROM {rows:bigint,bigint,bigint,bigint,bigint,bigint,bigint,bigint}
ON CONFLICT (document, output) DO UPDATE SET seq = excluded.seq, sent = excluded.sent, sent_access = excluded.sent_access,
 intent_at = excluded.intent_at, outcome = NULL, address_parent = excluded.address_parent, address = excluded.address
