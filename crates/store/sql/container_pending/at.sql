-- Those of some containers.
SELECT container, job, acl FROM container_pending WHERE container IN any_of($1)
