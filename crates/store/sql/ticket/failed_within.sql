-- How many tickets of a job beyond one and up to another one failed.
SELECT count(*) FROM ticket WHERE job = $1 AND number > $2 AND number <= $3 AND outcome = 'failed'
