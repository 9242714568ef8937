-- Completes all events: whoever began them is dead.
DELETE FROM event
