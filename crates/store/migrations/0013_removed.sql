-- documents that passes of a continuous job have removed, by the minute: what its delete guard counts together
CREATE TABLE removed (job BIGINT NOT NULL, minute BIGINT NOT NULL, documents BIGINT NOT NULL, PRIMARY KEY (job, minute)) /*clustered*/;
