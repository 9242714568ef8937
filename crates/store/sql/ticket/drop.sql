-- Tickets of a job that is to go.
DELETE FROM ticket WHERE job = $1
