-- Deliveries of documents that are not there: orphans in an output.
SELECT v.document, v.output FROM delivery v LEFT JOIN document d ON d.id = v.document WHERE d.id IS NULL LIMIT $1
