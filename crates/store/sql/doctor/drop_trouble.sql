-- Drops trouble of documents that are not there.
DELETE FROM trouble WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.id = trouble.document)
