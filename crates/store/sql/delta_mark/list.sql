-- Records that a delta run has met, in pieces, each of one kind, after one.
SELECT number, kind, ids FROM delta_mark WHERE job = $1 AND epoch = $2 AND number > $3 ORDER BY number
