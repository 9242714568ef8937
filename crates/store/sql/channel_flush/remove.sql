-- What waits no longer.
DELETE FROM channel_flush WHERE channel = $1 AND number <= $2
