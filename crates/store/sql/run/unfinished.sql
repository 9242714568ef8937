-- Jobs none of whose runs has ended well: their first run is on record, and no run that was done.
SELECT handle FROM job WHERE EXISTS (SELECT 1 FROM run WHERE run.job = job.handle AND run.number = 1)
AND NOT EXISTS (SELECT 1 FROM run WHERE run.job = job.handle AND run.outcome = 'done')
