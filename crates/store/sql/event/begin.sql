-- Begins an event, unless it is pending.
INSERT INTO event (name, job, document, process, taken_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (name) DO NOTHING
