-- What was kept for a job that goes rules its entries on until others have sent them.
INSERT INTO container_pending (container, job, acl) SELECT container, 0, acl FROM container_pending WHERE job = $1 ON CONFLICT DO NOTHING
