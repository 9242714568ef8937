-- All acls.
SELECT id, list FROM acl
