-- move: document Forget
-- Work of documents that are gone.
DELETE FROM queue WHERE document IN any_of($1)
