-- Access that is about to be sent; the record stays as it stands.
-- When the last intent was not confirmed, nobody knows what is held: -1 is equal to no digest.
-- An owner for which the entry of another one served sends its own from now on.
-- What is held already may be told once more, ahead of another attempt to read; that does not make its confirmation old.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE delivery SET outcome = CASE WHEN outcome = 'shared' THEN NULL ELSE outcome END, seq = $4, intended_acl = $5, confirmed_acl = CASE WHEN confirmed_acl <> intended_acl THEN -1 ELSE confirmed_acl END, intent_at = CASE WHEN confirmed_acl = $5 AND intended_acl = $5 THEN intent_at ELSE $6 END WHERE document = $1 AND component = $2 AND output = $3
