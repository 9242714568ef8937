-- move: document Settle, Decline, GiveUp
-- Work that is done, unless it was wanted again meanwhile.
-- Differs from PostgreSQL: one row per call beats a list here.
DELETE FROM queue WHERE document = $1 AND request_count = $2
