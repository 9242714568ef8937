-- move: job Note, PutDown, Restart
-- The run is over; or it was put down, and goes on in another one ($4 is 1).
UPDATE job SET state = CASE WHEN CAST($4 AS BIGINT) = 1 AND state = 'stopping' THEN 'starting' ELSE 'resting' END, error = $3 WHERE handle = $1 AND run = $2 AND state IN ('ending', 'stopping')
