-- Records of one kind that a delta run has met, in pieces.
SELECT ids FROM delta_mark WHERE job = $1 AND epoch = $2 AND kind = $3 ORDER BY number
