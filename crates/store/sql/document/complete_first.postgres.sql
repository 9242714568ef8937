-- move: document Settle, Decline, GiveUp
-- What a first visit found.
-- Differs from SQLite: one statement per batch, lists as arrays.
UPDATE document SET version = c2, access = c3, settings = c4, identity = c5, acl = c6, container = c7, raw = coalesce(c8, raw), changed_run = c9 FROM {rows:bigint,bigint,bigint,bigint,bigint,bigint,bigint,bigint,bigint} WHERE id = c1 AND settings = 0
