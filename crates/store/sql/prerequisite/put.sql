-- A document waits for an event; what a reference says outlasts what holds until the next visit.
INSERT INTO prerequisite (document, event, job, once) VALUES ($1, $2, $3, $4)
ON CONFLICT (document, event) DO UPDATE SET once = CASE WHEN excluded.once < prerequisite.once THEN excluded.once ELSE prerequisite.once END
