-- Drops what no authority has.
DELETE FROM membership WHERE NOT EXISTS (SELECT 1 FROM connection c WHERE c.handle = membership.authority AND c.role = 'authority')
