-- Components of documents that are gone.
DELETE FROM component WHERE document IN any_of($1)
