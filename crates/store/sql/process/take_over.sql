-- Takes a process off the record whose lease is as it was seen.
DELETE FROM process WHERE id = $1 AND until = $2
