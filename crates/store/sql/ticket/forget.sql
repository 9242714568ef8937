-- Tickets of a job whose reports are so old.
DELETE FROM ticket WHERE job = $1 AND report <= $2
