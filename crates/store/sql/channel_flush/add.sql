-- What waits until tickets up to one are completed.
INSERT INTO channel_flush (channel, number, ticket) VALUES ($1, $2, $3)
