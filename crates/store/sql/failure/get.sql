-- What is wrong with these documents.
SELECT document, kind, attempts, code FROM failure WHERE document IN any_of($1)
