-- Fewer removals of this run are held than were seen to be.
UPDATE run SET held = $4 WHERE job = $1 AND number = $2 AND guard = 'held' AND held = $3
