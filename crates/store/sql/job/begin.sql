-- move: job Start, Begin, Interrupt
-- Opens the next run, from rest or in place of a run whose process died.
UPDATE job SET state = 'working', run = run + 1, error = NULL, restart = NULL WHERE handle = $1 AND state <> 'deleting' AND paused = 0
RETURNING run
