-- What waits until the tickets of a channel before this number are completed.
INSERT INTO channel_flush (channel, number) VALUES ($1, $2)
