-- Records of documents that are gone.
DELETE FROM record WHERE document IN any_of($1)
