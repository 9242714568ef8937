-- All of them, for judging.
SELECT container, job, acl FROM container_pending
