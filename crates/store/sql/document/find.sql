-- Documents of one parent by key; for parents whose items come in several pages.
SELECT parent_hash, id, key_hash, version, access, settings, acl, container FROM document WHERE job = $1 AND parent_hash = $2 AND key_hash IN any_of($3)
