-- Drops what documents that are not there wait for.
DELETE FROM prerequisite WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.id = prerequisite.document)
