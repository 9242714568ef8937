-- What was kept for a job that goes rules its entries on until others have sent them.
INSERT INTO place_narrow (place, job, class) SELECT place, 0, class FROM place_narrow WHERE job = $1 ON CONFLICT DO NOTHING
