-- Drops what no authority has.
DELETE FROM person_group WHERE NOT EXISTS (SELECT 1 FROM connection c WHERE c.handle = person_group.authority AND c.role = 'authority')
