-- All of them, for judging.
SELECT place, job, class FROM place_narrow
