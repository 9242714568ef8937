-- move: job Interrupt, Delete
-- The job is to go with all that outputs hold of it.
UPDATE job SET state = 'deleting' WHERE handle = $1
