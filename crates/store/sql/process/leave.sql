-- Takes a process off the record.
DELETE FROM process WHERE id = $1
