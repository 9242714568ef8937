-- move: document Settle, Decline, GiveUp
-- Work that is done, unless it was wanted again meanwhile.
-- Differs from SQLite: one statement per batch, lists as arrays.
DELETE FROM queue USING {rows:bigint,bigint} WHERE document = c1 AND request_count = c2
