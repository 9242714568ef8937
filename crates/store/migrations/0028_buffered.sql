-- buffered_since: when the record changed first since its last visit was released, milliseconds since 1970 UTC; client_version: the number that its client counts its versions by
ALTER TABLE record ADD COLUMN buffered_since BIGINT NOT NULL DEFAULT 0;
ALTER TABLE record ADD COLUMN client_version BIGINT;
ALTER TABLE record_before ADD COLUMN client_version BIGINT;
-- last_ticket: the last ticket at its end; drained_at: when none up to that was open any more, and outputs had committed
ALTER TABLE delta_run ADD COLUMN last_ticket BIGINT;
ALTER TABLE delta_run ADD COLUMN drained_at BIGINT;
