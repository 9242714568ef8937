-- sink: where a channel sends its reports (decision 0057), empty where nowhere; sink_secret: what they are signed with, JSON; sink_ms: how long it may take none; delivered: the last
-- report that it has; sink_lost: it took none for so long
ALTER TABLE channel ADD COLUMN sink TEXT NOT NULL DEFAULT '';
ALTER TABLE channel ADD COLUMN sink_secret TEXT NOT NULL DEFAULT '';
ALTER TABLE channel ADD COLUMN sink_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE channel ADD COLUMN delivered BIGINT NOT NULL DEFAULT 0;
ALTER TABLE channel ADD COLUMN sink_lost BIGINT NOT NULL DEFAULT 0;
CREATE INDEX channel_sink ON channel (id) WHERE sink <> '' AND sink_lost = 0;
-- tickets that a sink is being told of, and that are not taken yet; call: the first of those of one call
CREATE TABLE ticket_prepared (number BIGINT PRIMARY KEY, call BIGINT NOT NULL, channel BIGINT NOT NULL, job BIGINT NOT NULL, key_text TEXT NOT NULL,
  op TEXT NOT NULL, prepared_at BIGINT NOT NULL, pushed_by TEXT NOT NULL, user_ref TEXT) /*clustered*/;
CREATE INDEX ticket_prepared_channel ON ticket_prepared (channel, number);
CREATE INDEX ticket_prepared_call ON ticket_prepared (call, number);
