-- All acls of a connection.
SELECT id, digest, list FROM acl WHERE connection = $1
