-- Texts of documents.
SELECT digest FROM extract WHERE document IN any_of($1) AND digest IS NOT NULL
