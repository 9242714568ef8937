-- what a document hands down to one that it leads to, as JSON: values by name
CREATE TABLE handed_down (child BIGINT NOT NULL, parent BIGINT NOT NULL, job BIGINT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (child, parent)) /*clustered*/;
CREATE INDEX handed_down_parent ON handed_down (job, parent);
-- digest of what was handed down to a document when it was visited to the end last; 0: nothing
ALTER TABLE document_text ADD handed BIGINT NOT NULL DEFAULT 0;
