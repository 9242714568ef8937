-- What was made of documents that are gone.
DELETE FROM extract WHERE document IN any_of($1)
