-- Whether any document of a job has some.
SELECT document FROM failure WHERE job = $1 LIMIT 1
