-- Drops trouble of documents that are not there.
DELETE FROM failure WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.id = failure.document)
