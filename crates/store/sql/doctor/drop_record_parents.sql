-- Drops what records are in that are not there.
DELETE FROM record_parent WHERE NOT EXISTS (SELECT 1 FROM record r WHERE r.document = record_parent.document)
