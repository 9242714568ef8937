-- Drops what no authority has.
DELETE FROM person WHERE NOT EXISTS (SELECT 1 FROM connection c WHERE c.handle = person.authority AND c.role = 'authority')
