-- All records that a delta run has met, in pieces.
SELECT ids FROM delta_mark WHERE job = $1 AND epoch = $2
