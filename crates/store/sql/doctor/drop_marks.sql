-- Drops marks of runs that are not there.
DELETE FROM seen WHERE NOT EXISTS (SELECT 1 FROM run r WHERE r.job = seen.job AND r.number = seen.run)
