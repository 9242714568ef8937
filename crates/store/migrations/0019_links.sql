-- what documents lead to, as they were read last: a bitmap of ids of documents of the same job; only of sources that are found by following links
CREATE TABLE link (document BIGINT PRIMARY KEY, targets BYTEA NOT NULL) /*clustered*/;
-- what its repository wants to know of a document at the next visit
ALTER TABLE document_text ADD memo BYTEA;
-- of a run that follows links: digest of all that it goes by, for the run that goes on with it; and when all its seeds had been named
ALTER TABLE run ADD basis BIGINT;
ALTER TABLE run ADD seeded_at BIGINT;
