-- move: job Note, PutDown, Restart, Start
-- The run is over. Another one is to begin where a person asked for it with the stop, or where it was put down and goes on ($4 is 1).
UPDATE job SET error = $3,
  state = CASE WHEN restart IS NOT NULL OR (CAST($4 AS BIGINT) = 1 AND state = 'stopping') THEN 'starting' ELSE 'resting' END
WHERE handle = $1 AND run = $2 AND state IN ('ending', 'stopping')
