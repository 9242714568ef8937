-- Containers that documents of a job are in.
SELECT DISTINCT container FROM document WHERE job = $1 AND container IS NOT NULL
