-- Names of documents that are not there.
SELECT t.id, CAST(NULL AS BIGINT) FROM document_text t LEFT JOIN document d ON d.id = t.id WHERE d.id IS NULL LIMIT $1
