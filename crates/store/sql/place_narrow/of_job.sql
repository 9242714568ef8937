-- Those of one job.
SELECT place, class FROM place_narrow WHERE job = $1
