-- Drops marks of runs that are not there.
DELETE FROM listed_ids WHERE NOT EXISTS (SELECT 1 FROM run r WHERE r.job = listed_ids.job AND r.number = listed_ids.run)
