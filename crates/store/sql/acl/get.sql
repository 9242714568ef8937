-- The list of one acl.
SELECT list FROM acl WHERE id = $1
