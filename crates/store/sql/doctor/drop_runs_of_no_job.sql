-- Drops runs of jobs that are not there.
DELETE FROM run WHERE NOT EXISTS (SELECT 1 FROM job j WHERE j.handle = run.job)
