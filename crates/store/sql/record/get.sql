-- Records of documents.
SELECT document, present, ticket, hash, acl, buffered_since, client_version, is_compound, pending_hash FROM record WHERE document IN any_of($1)
