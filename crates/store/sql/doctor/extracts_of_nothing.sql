-- What was made of documents that are not there.
SELECT e.document, CAST(NULL AS BIGINT) FROM extract e LEFT JOIN document d ON d.id = e.document WHERE d.id IS NULL
UNION ALL SELECT t.digest, CAST(NULL AS BIGINT) FROM extract_text t LEFT JOIN extract e ON e.digest = t.digest WHERE e.document IS NULL LIMIT $1
