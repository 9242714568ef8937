-- Some containers that were not replaced.
SELECT id, parent, name, identity, acl FROM container WHERE id IN any_of($1) AND gone_at IS NULL
