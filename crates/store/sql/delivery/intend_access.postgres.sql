-- Access that is about to be sent; the record stays as it stands.
-- Differs from SQLite: one statement per batch, lists as arrays.
UPDATE delivery SET seq = c3, sent_access = c4, intent_at = c5 FROM {rows:bigint,bigint,bigint,bigint,bigint} WHERE document = c1 AND output = c2
