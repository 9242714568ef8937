-- Forgets so many of the oldest rows of a job from before a time.
DELETE FROM history WHERE (job, at, document, outcome) IN
(SELECT job, at, document, outcome FROM history WHERE job = $1 AND at < $2 ORDER BY at, document, outcome LIMIT $3)
