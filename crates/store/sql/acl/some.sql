-- Some acls, and whose tokens judge them.
SELECT acl.id, acl.list, connection.authority_group FROM acl JOIN connection ON connection.handle = acl.connection
WHERE acl.id IN any_of($1)
