-- Drops them.
DELETE FROM next_look WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.id = next_look.document)
