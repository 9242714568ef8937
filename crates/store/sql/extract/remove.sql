-- Forgets what was made of documents; answers the texts that they had by then.
DELETE FROM extract WHERE document IN any_of($1) RETURNING digest
