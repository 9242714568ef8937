-- Drops marks of jobs that are not there.
DELETE FROM seen WHERE NOT EXISTS (SELECT 1 FROM job j WHERE j.handle = seen.job)
