-- How many documents of a job have some of a kind.
SELECT count(*) FROM failure WHERE job = $1 AND kind = $2
