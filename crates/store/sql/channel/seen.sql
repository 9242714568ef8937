-- The client of a channel is there.
UPDATE channel SET seen_at = $2 WHERE id = $1
