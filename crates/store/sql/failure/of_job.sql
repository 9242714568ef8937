-- Documents of a job that have some, in the order of their ids.
SELECT document, kind, attempts, code, message FROM failure WHERE job = $1 AND kind = $2 AND document > $3 ORDER BY document LIMIT $4
