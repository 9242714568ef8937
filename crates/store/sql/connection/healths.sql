-- How each output is.
SELECT name, health FROM connection WHERE role = 'output' ORDER BY name
