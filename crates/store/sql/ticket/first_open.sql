-- The first open ticket of a channel.
SELECT MIN(number) FROM ticket WHERE channel = $1 AND channel IS NOT NULL AND report IS NULL
