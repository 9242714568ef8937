-- The held removals of a run were carried out or are void.
UPDATE run SET guard = $3, held = NULL WHERE job = $1 AND number = $2 AND guard = 'held'
