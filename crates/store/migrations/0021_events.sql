-- events that are pending: which document of which job began it, in which process, and when
CREATE TABLE event (name TEXT PRIMARY KEY, job BIGINT NOT NULL, document BIGINT NOT NULL, process TEXT NOT NULL,
  taken_at BIGINT NOT NULL) /*table*/;
-- a document is not visited while one of its events is pending; once: 1 until its next visit only, 0 as long as a reference says so
CREATE TABLE prerequisite (document BIGINT NOT NULL, event TEXT NOT NULL, job BIGINT NOT NULL, once BIGINT NOT NULL,
  PRIMARY KEY (document, event)) /*clustered*/;
CREATE INDEX prerequisite_job ON prerequisite (job, document);
CREATE INDEX prerequisite_event ON prerequisite (event, document);
