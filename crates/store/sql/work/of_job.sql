-- Documents of a job that wait.
SELECT document FROM work WHERE job = $1
