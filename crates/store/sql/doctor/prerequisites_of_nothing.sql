-- What documents that are not there wait for.
SELECT p.document, CAST(NULL AS BIGINT) FROM prerequisite p LEFT JOIN document d ON d.id = p.document WHERE d.id IS NULL LIMIT $1
