-- Trouble of documents that are not there.
SELECT t.document, t.job FROM failure t LEFT JOIN document d ON d.id = t.document WHERE d.id IS NULL LIMIT $1
