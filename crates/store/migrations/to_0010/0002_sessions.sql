-- ceiling: largest number of a change that may have been sent to an output, on disk before it is sent; an output that knows a
-- larger one has seen a later day than this store. session: the opening that made the commit which is confirmed;
-- next_session: the one that made whatever was committed after it
ALTER TABLE connection ADD COLUMN ceiling BIGINT NOT NULL DEFAULT 0;
ALTER TABLE connection ADD COLUMN session BIGINT NOT NULL DEFAULT 0;
ALTER TABLE connection ADD COLUMN next_session BIGINT NOT NULL DEFAULT 0;
UPDATE connection SET ceiling = coalesce((SELECT next - 1 FROM id_block WHERE name = 'seq'), 0) WHERE role = 'output';
