-- The names of all jobs, without their definitions.
SELECT handle, name FROM job ORDER BY name
