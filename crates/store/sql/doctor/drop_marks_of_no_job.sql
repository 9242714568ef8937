-- Drops marks of jobs that are not there.
DELETE FROM listed_ids WHERE NOT EXISTS (SELECT 1 FROM job j WHERE j.handle = listed_ids.job)
