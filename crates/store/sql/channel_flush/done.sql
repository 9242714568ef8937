-- What waits no longer in a channel whose first open ticket is this one.
SELECT number FROM channel_flush WHERE channel = $1 AND number < $2 ORDER BY number
