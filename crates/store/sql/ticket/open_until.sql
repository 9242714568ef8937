-- An open ticket of a job up to one.
SELECT number FROM ticket WHERE job = $1 AND report IS NULL AND number <= $2 LIMIT 1
