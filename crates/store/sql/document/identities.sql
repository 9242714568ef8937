-- What stays of documents when they are renamed.
SELECT id, identity FROM document WHERE id IN any_of($1)
