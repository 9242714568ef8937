-- move: job Stop
-- The run is to end before its work is done.
UPDATE job SET state = 'stopping' WHERE handle = $1 AND run = $2 AND state IN ('starting', 'working', 'sweeping')
