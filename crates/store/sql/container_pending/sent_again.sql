-- Those of entries of jobs that are gone, once every such entry was sent by another job.
DELETE FROM container_pending WHERE job = 0 AND NOT EXISTS (SELECT 1 FROM queue w WHERE w.reason = 'resend')
 AND NOT EXISTS (SELECT 1 FROM job j WHERE j.state = 'deleting')
