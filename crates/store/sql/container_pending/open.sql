-- A run of the job has looked at all that is below the container.
DELETE FROM container_pending WHERE container = $1 AND job = $2
