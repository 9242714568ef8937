-- An acl that has to admit, too, before documents of a job below a container are shown.
INSERT INTO container_pending (container, job, acl) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
