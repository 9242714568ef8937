-- Tickets of a job that is to go; those of channels go with their reports.
DELETE FROM ticket WHERE job = $1 AND channel IS NULL
