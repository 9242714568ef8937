-- Marks of a run belong to the one that goes on with it.
UPDATE listed_ids SET run = $3 WHERE job = $1 AND run = $2
