-- move: job Sweep
-- The sweep found nothing more to remove.
UPDATE job SET state = 'ending' WHERE handle = $1 AND run = $2 AND state = 'sweeping'
