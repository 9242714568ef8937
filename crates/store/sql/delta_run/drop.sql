-- Delta runs of a job that is to go.
DELETE FROM delta_run WHERE job = $1
