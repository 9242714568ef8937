-- Those of entries of jobs that are gone, once every such entry was sent by another job.
DELETE FROM place_narrow WHERE job = 0 AND NOT EXISTS (SELECT 1 FROM work w WHERE w.cause = 'resend')
 AND NOT EXISTS (SELECT 1 FROM job j WHERE j.state = 'deleting')
