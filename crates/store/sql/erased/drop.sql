-- The job is gone.
DELETE FROM erased WHERE job = $1
