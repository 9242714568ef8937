-- Those of one job.
SELECT container, acl FROM container_pending WHERE job = $1
