-- A channel that a client opens; a sink has heard the first report.
INSERT INTO channel (id, job, client, opened_by, is_sync, state, reason, opened_at, changed_at, seen_at, lease_ms, throttle_ms, open_max, taken, completed, serial, acked, sink, sink_secret, sink_ms, delivered, tells_retries)
VALUES ($1, $2, $3, $4, $5, $6, '', $7, $7, $7, $8, $9, $10, 0, 0, 0, 0, $11, $12, $13, CASE WHEN $11 = '' THEN 0 ELSE 1 END, $14)
