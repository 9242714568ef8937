-- move: job Note, PutDown
-- The run is over.
UPDATE job SET state = 'resting', error = $3 WHERE handle = $1 AND run = $2 AND state IN ('ending', 'stopping')
