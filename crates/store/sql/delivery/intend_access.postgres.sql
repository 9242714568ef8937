-- Access that is about to be sent; the record stays as it stands.
-- When the last intent was not confirmed, nobody knows what is held: -1 is equal to no digest.
-- An owner for which the entry of another one served sends its own from now on.
-- What is held already may be told once more, ahead of another attempt to read; that does not make its confirmation old.
-- Differs from SQLite: one statement per batch, lists as arrays.
UPDATE delivery SET outcome = CASE WHEN outcome = 'shared' THEN NULL ELSE outcome END, seq = c4, intended_acl = c5, confirmed_acl = CASE WHEN confirmed_acl <> intended_acl THEN -1 ELSE confirmed_acl END, intent_at = CASE WHEN confirmed_acl = c5 AND intended_acl = c5 THEN intent_at ELSE c6 END FROM {rows:bigint,bigint,bigint,bigint,bigint,bigint} WHERE document = c1 AND component = c2 AND output = c3
