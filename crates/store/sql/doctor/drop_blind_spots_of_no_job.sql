-- Drops blind spots of jobs that are not there.
DELETE FROM blind_spot WHERE NOT EXISTS (SELECT 1 FROM job j WHERE j.handle = blind_spot.job)
