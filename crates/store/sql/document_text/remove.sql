-- Names of documents that are gone.
DELETE FROM document_text WHERE id IN any_of($1)
