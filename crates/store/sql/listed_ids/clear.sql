-- Forgets the bitmaps of a run, for all of them in one.
DELETE FROM listed_ids WHERE job = $1 AND run = $2
