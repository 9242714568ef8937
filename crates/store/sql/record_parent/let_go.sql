-- Records are in a compound no more.
DELETE FROM record_parent WHERE document IN any_of($1) AND parent_hash = $2 AND key_hash = $3
