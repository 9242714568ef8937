-- So many tickets of a channel are completed, each with a report.
UPDATE channel SET completed = completed + $2, serial = serial + $2 WHERE id = $1 RETURNING serial
