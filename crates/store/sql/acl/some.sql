-- Some acls.
SELECT id, list FROM acl WHERE id IN any_of($1)
