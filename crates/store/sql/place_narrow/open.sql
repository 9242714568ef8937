-- A run of the job has looked at all that is below the place.
DELETE FROM place_narrow WHERE place = $1 AND job = $2
