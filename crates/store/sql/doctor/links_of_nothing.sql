-- What documents that are not there led to.
SELECT l.document, CAST(NULL AS BIGINT) FROM link l LEFT JOIN document d ON d.id = l.document WHERE d.id IS NULL LIMIT $1
