-- What is in documents.
SELECT document, component, name, kept FROM component WHERE document IN any_of($1)
