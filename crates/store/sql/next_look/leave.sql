-- No document of a job has one.
DELETE FROM next_look WHERE job = $1
