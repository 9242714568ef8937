-- What a repository keeps with a document for its next visit.
SELECT memo FROM document_text WHERE id = $1
