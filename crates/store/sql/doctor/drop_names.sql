-- Drops names of documents that are not there.
DELETE FROM document_text WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.id = document_text.id)
