-- Bitmaps of a run.
SELECT ids FROM seen WHERE job = $1 AND run = $2 ORDER BY number
