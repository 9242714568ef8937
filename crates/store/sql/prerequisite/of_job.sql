-- Documents of a job that have prerequisites, pending or not.
SELECT DISTINCT document FROM prerequisite WHERE job = $1 AND document > $2 ORDER BY document LIMIT $3
