-- Delta runs of a job that are over, and of which something may be open.
SELECT epoch, mode, token, client, watermark, opened_at, seen_at, lease_ms, state, ended_at, touched, veto, deleted,
 last_ticket, drained_at, compound FROM delta_run
WHERE job = $1 AND last_ticket IS NOT NULL AND drained_at IS NULL ORDER BY epoch
