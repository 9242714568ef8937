-- The inventory of jobs, documents and deliveries, in PostgreSQL's words; the migrator translates for SQLite.
-- Times are milliseconds since 1970 UTC; flags are nullable times; JSON is TEXT that SQL never opens.

CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) /*clustered*/;
-- next free number by name; blocks are taken by a process and never given twice
CREATE TABLE id_block (name TEXT PRIMARY KEY, next BIGINT NOT NULL) /*clustered*/;
-- who may write: one row per process that is alive, one row per part of the work it holds
CREATE TABLE process (id TEXT PRIMARY KEY, slot BIGINT NOT NULL UNIQUE, until BIGINT NOT NULL, pid BIGINT NOT NULL,
  host TEXT NOT NULL, doing TEXT NOT NULL) /*table*/;
CREATE TABLE part (number BIGINT PRIMARY KEY, process TEXT, epoch BIGINT NOT NULL) /*table*/;

CREATE TABLE connection (handle BIGINT PRIMARY KEY, role TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  settings TEXT NOT NULL, identity TEXT, generation BIGINT NOT NULL, changed_at BIGINT NOT NULL) /*table*/;
CREATE UNIQUE INDEX connection_name ON connection (role, name);

CREATE TABLE job (handle BIGINT PRIMARY KEY, name TEXT NOT NULL, repository BIGINT NOT NULL, root TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('resting','starting','working','sweeping','ending','stopping','deleting')),
  run BIGINT NOT NULL, definition TEXT NOT NULL, revision BIGINT NOT NULL, reader TEXT, created_at BIGINT NOT NULL,
  error TEXT) /*table*/;
CREATE UNIQUE INDEX job_name ON job (name);
CREATE INDEX job_root ON job (repository, root);

CREATE TABLE run (job BIGINT NOT NULL, number BIGINT NOT NULL, kind TEXT NOT NULL, started_at BIGINT NOT NULL,
  listed_at BIGINT, ended_at BIGINT, outcome TEXT, guard TEXT, held BYTEA, counts TEXT, error TEXT,
  PRIMARY KEY (job, number)) /*clustered*/;
CREATE TABLE blind_spot (job BIGINT NOT NULL, run BIGINT NOT NULL, number BIGINT NOT NULL, scope TEXT NOT NULL,
  cause TEXT NOT NULL, message TEXT NOT NULL, PRIMARY KEY (job, run, number)) /*clustered*/;
-- bitmap of ids that a page met; seen in a run = in the union
CREATE TABLE seen (job BIGINT NOT NULL, run BIGINT NOT NULL, number BIGINT NOT NULL, ids BYTEA NOT NULL,
  PRIMARY KEY (job, run, number)) /*clustered*/;

CREATE TABLE access_class (id BIGINT PRIMARY KEY, connection BIGINT NOT NULL, digest BIGINT NOT NULL,
  level TEXT NOT NULL) /*table*/;
CREATE UNIQUE INDEX access_class_digest ON access_class (connection, digest);
-- level: what rules now; wider: what it opens to once its range is proven, until then both must admit;
-- also: JSON list of classes of closed places above, kept for what has not been proven since they opened
CREATE TABLE place (id BIGINT PRIMARY KEY, connection BIGINT NOT NULL, parent BIGINT, name TEXT NOT NULL,
  identity TEXT NOT NULL, level BIGINT NOT NULL, wider BIGINT, also TEXT, gone_at BIGINT) /*table*/;
CREATE INDEX place_connection ON place (connection, id);

-- settings 0: its first visit is not settled, so whoever lists it asks for that visit; no row in work says so too
CREATE TABLE document (id BIGINT PRIMARY KEY, job BIGINT NOT NULL, parent BIGINT NOT NULL, own BIGINT NOT NULL,
  version BIGINT NOT NULL, access BIGINT NOT NULL, settings BIGINT NOT NULL, identity BIGINT NOT NULL,
  class BIGINT, place BIGINT, changed_run BIGINT NOT NULL) /*table*/;
CREATE UNIQUE INDEX document_key ON document (job, parent, own);
CREATE TABLE document_text (id BIGINT PRIMARY KEY, key_text TEXT NOT NULL) /*table*/;
-- visits that wait, but for first ones; at rest empty. Removals belong to the run that decided them and have no row (design 4.3)
CREATE TABLE work (document BIGINT PRIMARY KEY, job BIGINT NOT NULL, due BIGINT NOT NULL,
  run BIGINT NOT NULL, cause TEXT NOT NULL, wanted BIGINT NOT NULL) /*clustered*/;
CREATE INDEX work_job ON work (job, document);
CREATE INDEX work_access ON work (document) WHERE cause = 'access';
CREATE TABLE trouble (document BIGINT PRIMARY KEY, job BIGINT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('retrying','failed','skipped')), attempts BIGINT NOT NULL, attempts_max BIGINT NOT NULL,
  first_at BIGINT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL) /*clustered*/;
CREATE INDEX trouble_job ON trouble (job, kind, document);

-- what one output holds of one document, or of a component in it, as claimed by one owner; sent 0 = a removal
CREATE TABLE delivery (document BIGINT NOT NULL, component BIGINT NOT NULL, output BIGINT NOT NULL, address_parent BIGINT NOT NULL,
  address BIGINT NOT NULL, seq BIGINT NOT NULL, sent BIGINT NOT NULL, sent_access BIGINT NOT NULL, held BIGINT,
  held_access BIGINT, intent_at BIGINT NOT NULL, confirmed_at BIGINT, outcome TEXT,
  PRIMARY KEY (document, component, output)) /*clustered*/;
CREATE INDEX delivery_address ON delivery (output, address_parent, address);
CREATE INDEX delivery_leaving ON delivery (document) WHERE sent = 0;
-- only where the URI is not the one that the repository derives from the key
CREATE TABLE delivery_uri (document BIGINT NOT NULL, output BIGINT NOT NULL, uri TEXT NOT NULL,
  PRIMARY KEY (document, output)) /*clustered*/;
-- names of what is in documents and has deliveries of its own; the document itself is component 0 and has no row
-- kept 1: it could not be read when its document was read last, and stays as it was before
CREATE TABLE component (document BIGINT NOT NULL, component BIGINT NOT NULL, name TEXT NOT NULL, kept BIGINT NOT NULL,
  PRIMARY KEY (document, component)) /*clustered*/;
-- what a pipeline made of documents, for outputs that are filled anew: of which version, by which stages; texts that are
-- equal are kept once
CREATE TABLE extract (document BIGINT PRIMARY KEY, version BIGINT NOT NULL, stages BIGINT NOT NULL, digest BIGINT,
  head BYTEA NOT NULL) /*table*/;
CREATE INDEX extract_digest ON extract (digest);
CREATE TABLE extract_text (digest BIGINT PRIMARY KEY, bytes BYTEA NOT NULL) /*table*/;
CREATE TABLE tally (job BIGINT NOT NULL, name TEXT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (job, name)) /*clustered*/;
