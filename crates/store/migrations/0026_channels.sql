-- channels that applications push through (decision 0052); opened_by: whose it is; is_sync: it answers when all is done; reason: why it ends; taken and completed: tickets; open_max:
-- how many may be open; serial: its last report; acked: the last one that its client has; changed_at: when its state changed
CREATE TABLE channel (id BIGINT PRIMARY KEY, job BIGINT NOT NULL, client TEXT NOT NULL, opened_by TEXT NOT NULL, is_sync BIGINT NOT NULL,
  state TEXT NOT NULL, reason TEXT NOT NULL, opened_at BIGINT NOT NULL, changed_at BIGINT NOT NULL, seen_at BIGINT NOT NULL,
  lease_ms BIGINT NOT NULL, throttle_ms BIGINT NOT NULL, open_max BIGINT NOT NULL, taken BIGINT NOT NULL, completed BIGINT NOT NULL,
  serial BIGINT NOT NULL, acked BIGINT NOT NULL) /*table*/;
CREATE INDEX channel_job ON channel (job);
-- what a channel told its client, in its order; word: a state, or what is answered; about: why
CREATE TABLE channel_report (channel BIGINT NOT NULL, serial BIGINT NOT NULL, at BIGINT NOT NULL, kind TEXT NOT NULL, ticket BIGINT,
  word TEXT NOT NULL, about TEXT NOT NULL, PRIMARY KEY (channel, serial)) /*clustered*/;
-- what waits until the tickets of a channel before this number are completed
CREATE TABLE channel_flush (channel BIGINT NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (channel, number)) /*clustered*/;
-- a record as it was before a channel pushed over it, while that is not delivered and nobody else has said anything of it: an abort of the channel brings it
-- back; present: 0 where there was none
CREATE TABLE record_before (document BIGINT PRIMARY KEY, channel BIGINT NOT NULL, present BIGINT NOT NULL, ticket BIGINT NOT NULL, hash TEXT,
  acl TEXT, about TEXT NOT NULL, content BYTEA NOT NULL) /*table*/;
-- channel: through which it was pushed; user_ref: what its client wants back with each report
ALTER TABLE ticket ADD COLUMN channel BIGINT;
ALTER TABLE ticket ADD COLUMN user_ref TEXT;
CREATE INDEX ticket_channel ON ticket (channel, number) WHERE channel IS NOT NULL AND report IS NULL;
