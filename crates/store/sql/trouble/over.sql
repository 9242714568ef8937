-- What was wrong is over.
DELETE FROM trouble WHERE document IN any_of($1)
