-- Held as sent, and never confirmed, or before it was sent.
SELECT document, output FROM delivery WHERE held = sent AND sent <> 0 AND (confirmed_at IS NULL OR confirmed_at < intent_at) LIMIT $1
