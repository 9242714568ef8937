-- What a repository keeps with a document for its next visit, and a digest of what was handed down to it at the last one.
SELECT memo, handed FROM document_text WHERE id = $1
