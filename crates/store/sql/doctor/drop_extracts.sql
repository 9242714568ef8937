-- Drops what was made of documents that are not there.
DELETE FROM extract WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.id = extract.document)
