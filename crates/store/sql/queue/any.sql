-- Whether anything of a job waits.
SELECT document FROM queue WHERE job = $1 LIMIT 1
