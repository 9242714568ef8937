-- Marks of delta runs that are over.
DELETE FROM delta_mark WHERE job = $1 AND epoch <= $2
