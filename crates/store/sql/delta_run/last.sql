-- The last delta run of a job.
SELECT epoch, mode, token, client, watermark, opened_at, seen_at, lease_ms, state, ended_at, touched, veto, deleted,
 last_ticket, drained_at, compound FROM delta_run
WHERE job = $1 ORDER BY epoch DESC LIMIT 1
