-- Addresses of documents that are gone.
DELETE FROM delivery_uri WHERE document IN any_of($1)
