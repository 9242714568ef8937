-- Forgets the bitmaps of earlier runs.
DELETE FROM seen WHERE job = $1 AND run < $2
