-- Open tickets of a channel after one: what they are of, and how often that was asked for.
SELECT number, document FROM ticket WHERE channel = $1 AND channel IS NOT NULL AND report IS NULL AND number > $2 ORDER BY number LIMIT $3
