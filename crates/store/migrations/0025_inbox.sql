-- what applications have pushed (decision 0051), by the document that it is; present: 0 where it was deleted; ticket: of what was pushed last; hash: what
-- whoever pushes tells versions by; acl: who may see it, JSON, NULL where that was left out
CREATE TABLE record (document BIGINT PRIMARY KEY, job BIGINT NOT NULL, present BIGINT NOT NULL, ticket BIGINT NOT NULL, hash TEXT, acl TEXT)
  /*clustered*/;
CREATE INDEX record_job ON record (job, document);
CREATE TABLE record_content (document BIGINT PRIMARY KEY, about TEXT NOT NULL, content BYTEA NOT NULL) /*table*/;
-- what was asked of a record, and what became of it; requests: of its document when it was asked, so that no visit of before ends it; report: its
-- place among all that became of tickets, NULL while it is open
CREATE TABLE ticket (number BIGINT PRIMARY KEY, job BIGINT NOT NULL, document BIGINT, key_text TEXT NOT NULL, op TEXT NOT NULL,
  requests BIGINT NOT NULL, accepted_at BIGINT NOT NULL, pushed_by TEXT NOT NULL, report BIGINT, completed_at BIGINT, outcome TEXT,
  code TEXT NOT NULL, message TEXT NOT NULL) /*table*/;
CREATE INDEX ticket_open ON ticket (document) WHERE report IS NULL;
CREATE INDEX ticket_report ON ticket (job, report);
-- a pass of an application over its whole source; token: digest of what proves that a call belongs to it; watermark: last ticket before it; seen_at: the
-- last sign of life of its client; touched: records that it could not read; veto: why it deletes nothing, NULL where it may
CREATE TABLE delta_run (job BIGINT NOT NULL, epoch BIGINT NOT NULL, mode TEXT NOT NULL, token TEXT NOT NULL, client TEXT NOT NULL,
  watermark BIGINT NOT NULL, opened_at BIGINT NOT NULL, seen_at BIGINT NOT NULL, lease_ms BIGINT NOT NULL, state TEXT NOT NULL,
  ended_at BIGINT, touched BIGINT NOT NULL, veto TEXT, deleted BIGINT NOT NULL, PRIMARY KEY (job, epoch)) /*clustered*/;
CREATE TABLE delta_mark (job BIGINT NOT NULL, epoch BIGINT NOT NULL, number BIGINT NOT NULL, ids BYTEA NOT NULL,
  PRIMARY KEY (job, epoch, number)) /*clustered*/;
