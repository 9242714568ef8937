-- All acls.
SELECT id, list, connection FROM acl
