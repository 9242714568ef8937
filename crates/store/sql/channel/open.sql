-- A channel that a client opens.
INSERT INTO channel (id, job, client, opened_by, is_sync, state, reason, opened_at, changed_at, seen_at, lease_ms, throttle_ms, open_max, taken, completed, serial, acked)
VALUES ($1, $2, $3, $4, $5, $6, '', $7, $7, $7, $8, $9, $10, 0, 0, 0, 0)
