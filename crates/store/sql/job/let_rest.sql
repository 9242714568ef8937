-- move: job Interrupt
-- A person wants no other run to go on with the last one, whose process is gone or has put it down.
UPDATE job SET state = 'resting', restart = NULL WHERE handle = $1 AND state NOT IN ('resting', 'deleting')
