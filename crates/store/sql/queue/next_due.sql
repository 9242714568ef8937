-- When the first of the visits of a job falls due that wait beyond a time.
SELECT MIN(due) FROM queue WHERE job = $1 AND due > $2
