-- Documents of a job that wait.
SELECT document FROM queue WHERE job = $1
