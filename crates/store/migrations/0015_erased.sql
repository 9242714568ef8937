-- documents that a person has erased, by their keys: no run takes them in. done_at: when the last output has let go of it and nothing of it is
-- known any more but this row; NULL: not yet
CREATE TABLE erased (job BIGINT NOT NULL, parent_hash BIGINT NOT NULL, key_hash BIGINT NOT NULL, name TEXT NOT NULL, at BIGINT NOT NULL,
  erased_by TEXT NOT NULL, done_at BIGINT, PRIMARY KEY (job, parent_hash, key_hash)) /*clustered*/;
CREATE INDEX erased_waiting ON erased (job) WHERE done_at IS NULL;
