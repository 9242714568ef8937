-- Forgets the bitmaps of earlier runs.
DELETE FROM listed_ids WHERE job = $1 AND run < $2
