-- Held as sent, and never confirmed, or before it was sent; access that is on its way is not held as sent.
SELECT document, output FROM delivery WHERE confirmed = intended AND confirmed_acl = intended_acl AND intended <> 0
 AND (confirmed_at IS NULL OR confirmed_at < intent_at) LIMIT $1
