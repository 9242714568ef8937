-- Drops contents of records that are not there.
DELETE FROM record_content WHERE NOT EXISTS (SELECT 1 FROM record r WHERE r.document = record_content.document)
