-- Bitmaps of a run.
SELECT ids FROM listed_ids WHERE job = $1 AND run = $2 ORDER BY number
