-- The last flush of a channel that waits.
SELECT COALESCE(MAX(number), 0) FROM channel_flush WHERE channel = $1
