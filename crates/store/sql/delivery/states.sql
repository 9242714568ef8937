-- What outputs hold of documents.
SELECT document, component, output, seq, intended, intended_acl, confirmed, confirmed_acl, outcome FROM delivery WHERE document IN any_of($1)
