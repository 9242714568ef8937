-- What a channel tells its client.
INSERT INTO channel_report (channel, serial, at, kind, ticket, word, about) VALUES ($1, $2, $3, $4, $5, $6, $7)
