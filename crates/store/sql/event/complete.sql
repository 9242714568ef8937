-- Completes an event.
DELETE FROM event WHERE name = $1
