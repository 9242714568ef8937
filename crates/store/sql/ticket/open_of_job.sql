-- Open tickets of a job that were pushed through channels.
SELECT number FROM ticket WHERE job = $1 AND report IS NULL AND channel IS NOT NULL LIMIT $2
