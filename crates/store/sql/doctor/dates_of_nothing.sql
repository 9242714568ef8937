-- Dates of documents that are not there.
SELECT l.document, l.job FROM next_look l LEFT JOIN document d ON d.id = l.document WHERE d.id IS NULL LIMIT $1
