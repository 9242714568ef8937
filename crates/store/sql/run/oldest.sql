-- When the oldest run began that is on record.
SELECT number, started_at FROM run WHERE job = $1 ORDER BY number LIMIT 1
