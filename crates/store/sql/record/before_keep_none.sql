-- Keeps that there was no record, before a channel pushes one.
INSERT INTO record_before (document, channel, present, ticket, about, content) VALUES ($1, $2, 0, 0, '{}', $3) ON CONFLICT (document) DO NOTHING
