-- Records are in compounds.
INSERT INTO record_parent (document, job, parent_hash, key_hash, epoch) SELECT c1, c2, c3, c4, c5 FROM {rows:bigint,bigint,bigint,bigint,bigint} WHERE true
ON CONFLICT (document, parent_hash, key_hash) DO UPDATE SET epoch = excluded.epoch
