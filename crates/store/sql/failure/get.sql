-- What is wrong with these documents.
SELECT document, kind, attempts, code, first_at, give_up_at FROM failure WHERE document IN any_of($1)
