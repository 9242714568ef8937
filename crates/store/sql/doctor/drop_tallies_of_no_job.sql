-- Drops counters of jobs that are not there.
DELETE FROM tally WHERE NOT EXISTS (SELECT 1 FROM job j WHERE j.handle = tally.job)
