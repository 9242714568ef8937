-- All records of a job that is to go.
DELETE FROM record WHERE job = $1
