-- Delta runs of before.
DELETE FROM delta_run WHERE job = $1 AND epoch <= $2
