-- What was wrong is over.
DELETE FROM failure WHERE document IN any_of($1)
