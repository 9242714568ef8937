-- The tables as all numbered steps leave them: what a new store begins with, and where to read what they hold. The upgrade test
-- compares them with what the steps make. In PostgreSQL's words; the migrator translates for SQLite.
-- Times are milliseconds since 1970 UTC; flags are nullable times; JSON is TEXT that SQL never opens.

CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) /*clustered*/;
-- next free number by name; blocks are taken by a process and never given twice
CREATE TABLE id_block (name TEXT PRIMARY KEY, next BIGINT NOT NULL) /*clustered*/;
-- who may write: one row per process that is alive, one row per part of the queue it holds
CREATE TABLE process (id TEXT PRIMARY KEY, slot BIGINT NOT NULL UNIQUE, until BIGINT NOT NULL, pid BIGINT NOT NULL,
  host TEXT NOT NULL, doing TEXT NOT NULL) /*table*/;
CREATE TABLE part (number BIGINT PRIMARY KEY, process TEXT, epoch BIGINT NOT NULL) /*table*/;

-- ceiling: largest number of a change that may have been sent to an output, on disk before it is sent; an output that knows a larger
-- one has seen a later day than this store. session: the opening that made the commit which is confirmed; next_session: the one that
-- made whatever was committed after it. health: whether an output takes what it is sent, as was found last: healthy, unavailable or corrupt;
-- health_since: since when it is so; health_why: what it said
CREATE TABLE connection (handle BIGINT PRIMARY KEY, role TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  settings TEXT NOT NULL, identity TEXT, generation BIGINT NOT NULL, changed_at BIGINT NOT NULL,
  ceiling BIGINT NOT NULL DEFAULT 0, session BIGINT NOT NULL DEFAULT 0, next_session BIGINT NOT NULL DEFAULT 0,
  authority_group TEXT NOT NULL DEFAULT '', asking TEXT,
  health TEXT NOT NULL DEFAULT 'healthy', health_since BIGINT NOT NULL DEFAULT 0, health_why TEXT NOT NULL DEFAULT '') /*table*/;
CREATE UNIQUE INDEX connection_name ON connection (role, name);

-- looked: digest of all that a pass of a continuous job goes by which looked at everything
CREATE TABLE job (handle BIGINT PRIMARY KEY, name TEXT NOT NULL, repository BIGINT NOT NULL, root TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('resting','starting','working','sweeping','ending','stopping','deleting')),
  run BIGINT NOT NULL, definition TEXT NOT NULL, revision BIGINT NOT NULL, reader TEXT, created_at BIGINT NOT NULL,
  error TEXT, paused BIGINT NOT NULL DEFAULT 0, scheduled_at BIGINT NOT NULL DEFAULT 0,
  restart TEXT, rereads BIGINT NOT NULL DEFAULT 0, looked BIGINT) /*table*/;
CREATE UNIQUE INDEX job_name ON job (name);
CREATE INDEX job_root ON job (repository, root);

-- basis: of a run that follows links, digest of all that it goes by, for the run that goes on with it; seeded_at: when all its seeds had been named
CREATE TABLE run (job BIGINT NOT NULL, number BIGINT NOT NULL, kind TEXT NOT NULL, started_at BIGINT NOT NULL,
  listed_at BIGINT, ended_at BIGINT, outcome TEXT, guard TEXT, held BYTEA, counts TEXT, error TEXT, begun_by TEXT,
  basis BIGINT, seeded_at BIGINT, PRIMARY KEY (job, number)) /*clustered*/;
CREATE INDEX run_started ON run (started_at, job, number);
-- what became of single documents: those that failed or were left out, and all that a run visited where the job asks for it.
-- outcome: a word of the model; code, message: why, empty where all went well; bytes: read of it
CREATE TABLE history (job BIGINT NOT NULL, at BIGINT NOT NULL, document BIGINT NOT NULL, outcome TEXT NOT NULL, run BIGINT NOT NULL,
  code TEXT NOT NULL, name TEXT NOT NULL, message TEXT NOT NULL, bytes BIGINT NOT NULL,
  PRIMARY KEY (job, at, document, outcome)) /*clustered*/;
CREATE INDEX history_at ON history (at, job, document, outcome);
-- from when on the history of a job is whole: of its runs, of failures, of all documents; no row of these: they are not noted
CREATE TABLE history_from (job BIGINT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('runs','failures','documents')), at BIGINT NOT NULL,
  PRIMARY KEY (job, kind)) /*clustered*/;
CREATE TABLE blind_spot (job BIGINT NOT NULL, run BIGINT NOT NULL, number BIGINT NOT NULL, scope TEXT NOT NULL,
  cause TEXT NOT NULL, message TEXT NOT NULL, PRIMARY KEY (job, run, number)) /*clustered*/;
-- what notifiers are to be told of ends of runs, one row for each of them. id: a digest of what it is about, so that the same is told once;
-- body: what is told, as JSON; state waiting: not before due
CREATE TABLE notice (id TEXT PRIMARY KEY, at BIGINT NOT NULL, job BIGINT NOT NULL, run BIGINT NOT NULL, event TEXT NOT NULL,
  notifier TEXT NOT NULL, body TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('waiting','sent','failed')), attempts BIGINT NOT NULL,
  due BIGINT NOT NULL, error TEXT) /*clustered*/;
CREATE INDEX notice_at ON notice (at, id);
CREATE INDEX notice_due ON notice (due, id) WHERE state = 'waiting';
CREATE INDEX notice_untold ON notice (job, at) WHERE state <> 'sent';
-- documents that passes of a continuous job have removed, by the minute: what its delete guard counts together
CREATE TABLE removed (job BIGINT NOT NULL, minute BIGINT NOT NULL, documents BIGINT NOT NULL, PRIMARY KEY (job, minute)) /*clustered*/;
-- bitmap of ids that pages of a run listed; what a run listed is their union
CREATE TABLE listed_ids (job BIGINT NOT NULL, run BIGINT NOT NULL, number BIGINT NOT NULL, ids BYTEA NOT NULL,
  PRIMARY KEY (job, run, number)) /*clustered*/;

-- who may read, as a list that is kept once
CREATE TABLE acl (id BIGINT PRIMARY KEY, connection BIGINT NOT NULL, digest BIGINT NOT NULL, list TEXT NOT NULL) /*table*/;
CREATE UNIQUE INDEX acl_digest ON acl (connection, digest);
-- a folder or share that rules what is below it
CREATE TABLE container (id BIGINT PRIMARY KEY, connection BIGINT NOT NULL, parent BIGINT, name TEXT NOT NULL,
  identity TEXT NOT NULL, acl BIGINT NOT NULL, gone_at BIGINT) /*table*/;
CREATE INDEX container_connection ON container (connection, id);
CREATE INDEX container_name ON container /*hash*/ (name) WHERE gone_at IS NULL;
-- acl: as the container was before it was listed last, by whatever job. It rules on for the documents of each job until a run of that
-- job has looked at all of them below the container (design 4.20); job 0: for entries of jobs that are gone
CREATE TABLE container_pending (container BIGINT NOT NULL, job BIGINT NOT NULL, acl BIGINT NOT NULL,
  PRIMARY KEY (container, job, acl)) /*clustered*/;
CREATE INDEX container_pending_job ON container_pending (job);

-- settings 0: its first visit is not complete, so whoever lists it asks for that visit; no row in queue says so too
-- raw: digest of the bytes that what outputs hold was made of; 0: not known. A change time that moved is compared with it (design 4.18)
CREATE TABLE document (id BIGINT PRIMARY KEY, job BIGINT NOT NULL, parent_hash BIGINT NOT NULL, key_hash BIGINT NOT NULL,
  version BIGINT NOT NULL, access BIGINT NOT NULL, settings BIGINT NOT NULL, identity BIGINT NOT NULL,
  acl BIGINT, container BIGINT, changed_run BIGINT NOT NULL, raw BIGINT NOT NULL DEFAULT 0) /*table*/;
CREATE UNIQUE INDEX document_key ON document (job, parent_hash, key_hash);
-- memo: what its repository wants to know of a document at the next visit; handed: digest of what was handed down to it when it was visited
-- to the end last, 0: nothing
CREATE TABLE document_text (id BIGINT PRIMARY KEY, key_text TEXT NOT NULL, memo BYTEA, handed BIGINT NOT NULL DEFAULT 0) /*table*/;
-- what documents lead to, as they were read last: a bitmap of ids of documents of the same job; only of sources that are found by following links
CREATE TABLE link (document BIGINT PRIMARY KEY, targets BYTEA NOT NULL) /*clustered*/;
-- what a document hands down to one that it leads to, as JSON: values by name
CREATE TABLE handed_down (child BIGINT NOT NULL, parent BIGINT NOT NULL, job BIGINT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (child, parent)) /*clustered*/;
CREATE INDEX handed_down_parent ON handed_down (job, parent);
-- visits that wait, but for first ones; at rest empty. Removals belong to the run that decided them and have no row (design 4.3)
CREATE TABLE queue (document BIGINT PRIMARY KEY, job BIGINT NOT NULL, due BIGINT NOT NULL,
  run BIGINT NOT NULL, reason TEXT NOT NULL, request_count BIGINT NOT NULL) /*clustered*/;
CREATE INDEX queue_job ON queue (job, document);
CREATE INDEX queue_access ON queue (document) WHERE reason = 'access';
-- events that are pending: which document of which job began it, in which process, and when
CREATE TABLE event (name TEXT PRIMARY KEY, job BIGINT NOT NULL, document BIGINT NOT NULL, process TEXT NOT NULL,
  taken_at BIGINT NOT NULL) /*table*/;
-- a document is not visited while one of its events is pending; once: 1 until its next visit only, 0 as long as a reference says so
CREATE TABLE prerequisite (document BIGINT NOT NULL, event TEXT NOT NULL, job BIGINT NOT NULL, once BIGINT NOT NULL,
  PRIMARY KEY (document, event)) /*clustered*/;
CREATE INDEX prerequisite_job ON prerequisite (job, document);
CREATE INDEX prerequisite_event ON prerequisite (event, document);
-- give_up_at: the last attempt is made by then; 0: their number alone counts
CREATE TABLE failure (document BIGINT PRIMARY KEY, job BIGINT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('retrying','failed','skipped')), attempts BIGINT NOT NULL, attempts_max BIGINT NOT NULL,
  first_at BIGINT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL, give_up_at BIGINT NOT NULL DEFAULT 0) /*clustered*/;
CREATE INDEX failure_job ON failure (job, kind, document);
-- of continuous jobs: when documents are looked at again or expire, and what was seen of them. action: recrawl, expire; since: the first of
-- their visits; changes: since then, each once; origin: when it was written; origin, expires: 9223372036854775807 is not known, and never
CREATE TABLE next_look (document BIGINT PRIMARY KEY, job BIGINT NOT NULL, due BIGINT NOT NULL,
  action TEXT NOT NULL CHECK (action IN ('recrawl','expire')), since BIGINT NOT NULL, changes BIGINT NOT NULL,
  origin BIGINT NOT NULL, expires BIGINT NOT NULL) /*clustered*/;
CREATE INDEX next_look_due ON next_look (job, due, document);

-- what one output holds of one document, or of a component in it, as claimed by one owner. intended: digest of what was sent last, on
-- disk before it is sent, 0 for a removal; confirmed: of what the output holds
CREATE TABLE delivery (document BIGINT NOT NULL, component BIGINT NOT NULL, output BIGINT NOT NULL, address_parent BIGINT NOT NULL,
  address BIGINT NOT NULL, seq BIGINT NOT NULL, intended BIGINT NOT NULL, intended_acl BIGINT NOT NULL, confirmed BIGINT,
  confirmed_acl BIGINT, intent_at BIGINT NOT NULL, confirmed_at BIGINT, outcome TEXT,
  PRIMARY KEY (document, component, output)) /*clustered*/;
CREATE INDEX delivery_address ON delivery (output, address_parent, address);
CREATE INDEX delivery_leaving ON delivery (document) WHERE intended = 0;
-- only where the URI is not the one that the repository derives from the key
CREATE TABLE delivery_uri (document BIGINT NOT NULL, output BIGINT NOT NULL, uri TEXT NOT NULL,
  PRIMARY KEY (document, output)) /*clustered*/;
-- what an output that judges access by what it was told has been told: an acl (id: its own), a container (id: its own, for the documents
-- of one job), all entries of a job by such references (kind entries), or what else has to admit to the entry at an address (kind also).
-- intended: digest of what was said last, on disk before it is said; confirmed: of what was confirmed last
CREATE TABLE definition (output BIGINT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('acl','container','entries','also')),
  id BIGINT NOT NULL, job BIGINT NOT NULL, seq BIGINT NOT NULL, intended BIGINT NOT NULL, confirmed BIGINT,
  PRIMARY KEY (output, kind, id, job)) /*clustered*/;
-- names of what is in documents and has deliveries of its own; the document itself is component 0 and has no row
-- kept 1: it could not be read when its document was read last, and stays as it was before
CREATE TABLE component (document BIGINT NOT NULL, component BIGINT NOT NULL, name TEXT NOT NULL, kept BIGINT NOT NULL,
  PRIMARY KEY (document, component)) /*clustered*/;
-- what a pipeline made of documents, for outputs that are filled anew: of which version, by which stages; texts that are equal are kept once
CREATE TABLE extract (document BIGINT PRIMARY KEY, version BIGINT NOT NULL, stages BIGINT NOT NULL, digest BIGINT,
  head BYTEA NOT NULL) /*table*/;
CREATE INDEX extract_digest ON extract (digest);
CREATE TABLE extract_text (digest BIGINT PRIMARY KEY, bytes BYTEA NOT NULL) /*table*/;
CREATE TABLE tally (job BIGINT NOT NULL, name TEXT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (job, name)) /*clustered*/;

-- documents that a person has erased, by their keys: no run takes them in. done_at: when the last output has let go of it and nothing of it is
-- known any more but this row; NULL: not yet. address: hash of the URI; 0: it was erased before addresses were kept
CREATE TABLE erased (job BIGINT NOT NULL, parent_hash BIGINT NOT NULL, key_hash BIGINT NOT NULL, name TEXT NOT NULL, at BIGINT NOT NULL,
  erased_by TEXT NOT NULL, done_at BIGINT, address BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (job, parent_hash, key_hash)) /*clustered*/;
CREATE INDEX erased_waiting ON erased (job) WHERE done_at IS NULL;
CREATE INDEX erased_of_address ON erased (address);
-- the same by their addresses: whatever becomes of the jobs that had them, no run of the job of this name takes them in, or of any job where
-- the name is empty. address: hash of the URI; admitted 1: this job alone takes it in all the same
CREATE TABLE erased_address (job TEXT NOT NULL, address BIGINT NOT NULL, uri TEXT NOT NULL, at BIGINT NOT NULL, erased_by TEXT NOT NULL,
  admitted BIGINT NOT NULL, PRIMARY KEY (job, address)) /*clustered*/;
CREATE INDEX erased_address_everywhere ON erased_address (address);

-- who may ask a service. digest: of the secret, which is random and long, and is not kept; roles: their words, with spaces between them.
-- account_*: whose access tokens count; empty: nobody's, so that only what is open to everybody is seen
-- sources: a list of names, JSON: into these sources alone the key may push; none: into all
CREATE TABLE api_key (id TEXT PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, roles TEXT NOT NULL,
  account_system TEXT NOT NULL, account_domain TEXT NOT NULL, account_name TEXT NOT NULL,
  created_at BIGINT NOT NULL, expires_at BIGINT, sources TEXT) /*clustered*/;
CREATE UNIQUE INDEX api_key_name ON api_key (name);
-- changes that a service was asked for. outcome: begun, done, or the code of the problem
CREATE TABLE audit (number BIGINT PRIMARY KEY, at BIGINT NOT NULL, caller TEXT NOT NULL, operation TEXT NOT NULL, job TEXT NOT NULL,
  outcome TEXT NOT NULL) /*clustered*/;

-- people and groups that somebody pushes into an authority of the kind scim (decision 0048). name: as it was sent; name_key: the form that names
-- are compared in, for no two people of an authority have one name; body: what else was sent, JSON; revision: tells what it was from what it is
CREATE TABLE person (authority BIGINT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, name_key TEXT NOT NULL, external_id TEXT,
  active BIGINT NOT NULL, body TEXT NOT NULL, revision BIGINT NOT NULL, created_at BIGINT NOT NULL, changed_at BIGINT NOT NULL,
  PRIMARY KEY (authority, id)) /*clustered*/;
CREATE UNIQUE INDEX person_name ON person (authority, name_key);
CREATE INDEX person_external ON person (authority, external_id, id);
CREATE TABLE person_group (authority BIGINT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, name_key TEXT NOT NULL, external_id TEXT,
  body TEXT NOT NULL, revision BIGINT NOT NULL, created_at BIGINT NOT NULL, changed_at BIGINT NOT NULL,
  PRIMARY KEY (authority, id)) /*clustered*/;
CREATE INDEX person_group_name ON person_group (authority, name_key, id);
CREATE INDEX person_group_external ON person_group (authority, external_id, id);
-- who is in which group: a person, or another group (is_group 1)
CREATE TABLE membership (authority BIGINT NOT NULL, group_id TEXT NOT NULL, member TEXT NOT NULL, is_group BIGINT NOT NULL,
  PRIMARY KEY (authority, group_id, member)) /*clustered*/;
CREATE INDEX membership_member ON membership (authority, member);
-- what applications have pushed (decision 0051), by the document that it is; present: 0 where it was deleted; ticket: of what was pushed last; hash: what
-- whoever pushes tells versions by; acl: who may see it, JSON, NULL where that was left out; buffered_since: when it changed first since its last visit was released;
-- client_version: the number that its client counts its versions by; is_compound: others may be in it; pending_hash: what its versions are told by once the
-- delta run that it was pushed in is finished
CREATE TABLE record (document BIGINT PRIMARY KEY, job BIGINT NOT NULL, present BIGINT NOT NULL, ticket BIGINT NOT NULL, hash TEXT, acl TEXT,
  buffered_since BIGINT NOT NULL DEFAULT 0, client_version BIGINT, is_compound BIGINT NOT NULL DEFAULT 0, pending_hash TEXT) /*clustered*/;
CREATE INDEX record_job ON record (job, document);
-- in which compounds of its job a record is, by their keys, whether these were pushed or not; epoch: of the delta run that said so last, 0 where that was
-- said in none
CREATE TABLE record_parent (document BIGINT NOT NULL, job BIGINT NOT NULL, parent_hash BIGINT NOT NULL, key_hash BIGINT NOT NULL, epoch BIGINT NOT NULL,
  PRIMARY KEY (document, parent_hash, key_hash)) /*clustered*/;
CREATE INDEX record_parent_of ON record_parent (job, key_hash, parent_hash, document);
CREATE TABLE record_content (document BIGINT PRIMARY KEY, about TEXT NOT NULL, content BYTEA NOT NULL) /*table*/;
-- what was asked of a record, and what became of it; requests: of its document when it was asked, so that no visit of before ends it; report: its
-- place among all that became of tickets, NULL while it is open; channel: through which it was pushed; user_ref: what its client wants back with each
-- report
CREATE TABLE ticket (number BIGINT PRIMARY KEY, job BIGINT NOT NULL, document BIGINT, key_text TEXT NOT NULL, op TEXT NOT NULL,
  requests BIGINT NOT NULL, accepted_at BIGINT NOT NULL, pushed_by TEXT NOT NULL, report BIGINT, completed_at BIGINT, outcome TEXT,
  code TEXT NOT NULL, message TEXT NOT NULL, channel BIGINT, user_ref TEXT) /*table*/;
CREATE INDEX ticket_open ON ticket (document) WHERE report IS NULL;
CREATE INDEX ticket_report ON ticket (job, report);
CREATE INDEX ticket_channel ON ticket (channel, number) WHERE channel IS NOT NULL AND report IS NULL;
-- a pass of an application over its whole source; token: digest of what proves that a call belongs to it; watermark: last ticket before it; seen_at: the
-- last sign of life of its client; touched: records that it could not read; veto: why it deletes nothing, NULL where it may; last_ticket: the last
-- ticket at its end; drained_at: when none up to that was open any more, and outputs had committed; compound: the key of the compound that it goes over, NULL:
-- over the whole source
CREATE TABLE delta_run (job BIGINT NOT NULL, epoch BIGINT NOT NULL, mode TEXT NOT NULL, token TEXT NOT NULL, client TEXT NOT NULL,
  watermark BIGINT NOT NULL, opened_at BIGINT NOT NULL, seen_at BIGINT NOT NULL, lease_ms BIGINT NOT NULL, state TEXT NOT NULL,
  ended_at BIGINT, touched BIGINT NOT NULL, veto TEXT, deleted BIGINT NOT NULL, last_ticket BIGINT, drained_at BIGINT, compound TEXT,
  PRIMARY KEY (job, epoch)) /*clustered*/;
-- kind: 0 records that were met; 1 compounds that stand for all that is in them; 2 compounds that were met anew; 3 hashes of keys that could not be read
CREATE TABLE delta_mark (job BIGINT NOT NULL, epoch BIGINT NOT NULL, number BIGINT NOT NULL, ids BYTEA NOT NULL, kind BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (job, epoch, number)) /*clustered*/;
-- channels that applications push through (decision 0052); opened_by: whose it is; is_sync: it answers when all is done; reason: why it ends; taken and completed: tickets; open_max:
-- how many may be open; serial: its last report; acked: the last one that its client has; changed_at: when its state changed; sink: where it sends its reports (decision 0057), empty
-- where nowhere; sink_secret: what they are signed with, JSON; sink_ms: how long it may take none; delivered: the last report that it has; sink_lost: it took none for so long; tells_retries: it
-- reports attempts that failed and are made again
CREATE TABLE channel (id BIGINT PRIMARY KEY, job BIGINT NOT NULL, client TEXT NOT NULL, opened_by TEXT NOT NULL, is_sync BIGINT NOT NULL,
  state TEXT NOT NULL, reason TEXT NOT NULL, opened_at BIGINT NOT NULL, changed_at BIGINT NOT NULL, seen_at BIGINT NOT NULL,
  lease_ms BIGINT NOT NULL, throttle_ms BIGINT NOT NULL, open_max BIGINT NOT NULL, taken BIGINT NOT NULL, completed BIGINT NOT NULL,
  serial BIGINT NOT NULL, acked BIGINT NOT NULL, sink TEXT NOT NULL DEFAULT '', sink_secret TEXT NOT NULL DEFAULT '',
  sink_ms BIGINT NOT NULL DEFAULT 0, delivered BIGINT NOT NULL DEFAULT 0, sink_lost BIGINT NOT NULL DEFAULT 0, tells_retries BIGINT NOT NULL DEFAULT 0) /*table*/;
CREATE INDEX channel_job ON channel (job);
CREATE INDEX channel_sink ON channel (id) WHERE sink <> '' AND sink_lost = 0;
-- tickets that a sink is being told of, and that are not taken yet; call: the first of those of one call
CREATE TABLE ticket_prepared (number BIGINT PRIMARY KEY, call BIGINT NOT NULL, channel BIGINT NOT NULL, job BIGINT NOT NULL, key_text TEXT NOT NULL,
  op TEXT NOT NULL, prepared_at BIGINT NOT NULL, pushed_by TEXT NOT NULL, user_ref TEXT) /*clustered*/;
CREATE INDEX ticket_prepared_channel ON ticket_prepared (channel, number);
CREATE INDEX ticket_prepared_call ON ticket_prepared (call, number);
-- what a channel told its client, in its order; word: a state, or what is answered; about: why
CREATE TABLE channel_report (channel BIGINT NOT NULL, serial BIGINT NOT NULL, at BIGINT NOT NULL, kind TEXT NOT NULL, ticket BIGINT,
  word TEXT NOT NULL, about TEXT NOT NULL, PRIMARY KEY (channel, serial)) /*clustered*/;
-- what waits until the tickets of a channel before this number are completed
CREATE TABLE channel_flush (channel BIGINT NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (channel, number)) /*clustered*/;
-- a record as it was before a channel pushed over it, while that is not delivered and nobody else has said anything of it: an abort of the channel brings it
-- back; present: 0 where there was none
CREATE TABLE record_before (document BIGINT PRIMARY KEY, channel BIGINT NOT NULL, present BIGINT NOT NULL, ticket BIGINT NOT NULL, hash TEXT,
  acl TEXT, about TEXT NOT NULL, content BYTEA NOT NULL, client_version BIGINT) /*table*/;
