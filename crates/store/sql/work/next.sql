-- When the next work of a job is due, and how much waits.
SELECT min(due), count(*) FROM work WHERE job = $1
