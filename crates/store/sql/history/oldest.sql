-- When the oldest document was noted of a job.
SELECT at FROM history WHERE job = $1 ORDER BY at, document, outcome LIMIT 1
