-- What outputs hold of documents.
SELECT document, component, output, seq, sent, sent_access, held, held_access, outcome FROM delivery WHERE document IN any_of($1)
