-- Records of documents.
SELECT document, present, ticket, hash, acl FROM record WHERE document IN any_of($1)
