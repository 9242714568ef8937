-- Tickets of a job whose reports are so old; those of channels go with their reports.
DELETE FROM ticket WHERE job = $1 AND report <= $2 AND channel IS NULL
