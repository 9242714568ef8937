-- Drops records of documents that are not there.
DELETE FROM record WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.id = record.document AND d.job = record.job)
