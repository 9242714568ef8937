-- tells_retries: whether a channel reports attempts that failed and are made again
ALTER TABLE channel ADD COLUMN tells_retries BIGINT NOT NULL DEFAULT 0;
