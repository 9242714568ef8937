-- Drops what documents that are not there led to.
DELETE FROM link WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.id = link.document)
