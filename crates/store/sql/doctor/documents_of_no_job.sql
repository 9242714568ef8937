-- Documents of jobs that are not there.
SELECT d.id, d.job FROM document d LEFT JOIN job j ON j.handle = d.job WHERE j.handle IS NULL LIMIT $1
