-- Documents of a job that wait, in the order of their ids.
SELECT document FROM queue WHERE job = $1 AND document > $2 ORDER BY document LIMIT $3
