-- Names of documents.
SELECT id, key_text FROM document_text WHERE id IN any_of($1)
