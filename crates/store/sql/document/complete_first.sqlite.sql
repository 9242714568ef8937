-- move: document Settle, Decline, GiveUp
-- What a first visit found.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE document SET version = $2, access = $3, settings = $4, identity = $5, acl = $6, container = $7, raw = coalesce($8, raw), changed_run = $9 WHERE id = $1 AND settings = 0
