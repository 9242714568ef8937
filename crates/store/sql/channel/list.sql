-- Channels after one.
SELECT id, job, client, opened_by, is_sync, state, reason, opened_at, changed_at, seen_at, lease_ms, throttle_ms, open_max, taken, completed, serial, acked, sink, sink_ms, delivered, sink_lost, tells_retries FROM channel WHERE id > $1 ORDER BY id LIMIT $2
