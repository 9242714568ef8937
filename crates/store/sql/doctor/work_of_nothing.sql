-- Work of documents that are not there.
SELECT w.document, w.job FROM work w LEFT JOIN document d ON d.id = w.document WHERE d.id IS NULL LIMIT $1
