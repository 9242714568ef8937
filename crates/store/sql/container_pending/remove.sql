-- Those of a job.
DELETE FROM container_pending WHERE job = $1
