-- Those of some places.
SELECT place, job, class FROM place_narrow WHERE place IN any_of($1)
