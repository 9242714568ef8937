-- Removals of this run are held: their ids as a bitmap.
UPDATE run SET guard = 'held', held = $3 WHERE job = $1 AND number = $2
