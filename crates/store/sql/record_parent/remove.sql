-- Records are in no compound any more.
DELETE FROM record_parent WHERE document IN any_of($1)
