-- Those of a job.
DELETE FROM place_narrow WHERE job = $1
