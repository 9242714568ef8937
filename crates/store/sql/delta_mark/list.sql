-- Records that a delta run has met, in pieces, after one.
SELECT number, ids FROM delta_mark WHERE job = $1 AND epoch = $2 AND number > $3 ORDER BY number
