-- A delta run begins.
INSERT INTO delta_run (job, epoch, mode, token, client, watermark, opened_at, seen_at, lease_ms, state, touched, deleted, compound)
VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8, 'open', 0, 0, $9)
