-- Jobs with several open runs.
SELECT job, count(*) FROM run WHERE ended_at IS NULL GROUP BY job HAVING count(*) > 1 LIMIT $1
