-- Documents of a job whose visits are due by a time, or with the next run; by id.
SELECT document FROM queue WHERE job = $1 AND document > $2 AND (due <= $3 OR due = 9223372036854775807) ORDER BY document LIMIT $4
