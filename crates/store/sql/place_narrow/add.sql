-- A class that has to admit, too, before documents of a job below a place are shown.
INSERT INTO place_narrow (place, job, class) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
