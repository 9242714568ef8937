-- Names of what is in documents.
SELECT document, component, name FROM component WHERE document IN any_of($1)
