-- Documents of a job that have some of a kind, so many at most.
SELECT document FROM failure WHERE job = $1 AND kind = $2 LIMIT $3
