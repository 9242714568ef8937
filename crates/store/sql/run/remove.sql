-- Forgets the runs of a job that goes.
DELETE FROM run WHERE job = $1
