-- Records of one kind that a delta run has met.
INSERT INTO delta_mark (job, epoch, number, kind, ids) SELECT $1, $2, coalesce(max(number), 0) + 1, $3, $4 FROM delta_mark WHERE job = $1 AND epoch = $2
