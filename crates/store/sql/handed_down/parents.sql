-- Documents of a job that hand something down, after one, by id.
SELECT DISTINCT parent FROM handed_down WHERE job = $1 AND parent > $2 ORDER BY parent LIMIT $3
