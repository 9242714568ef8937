-- Forgets the counters of a job that goes.
DELETE FROM tally WHERE job = $1
