-- no move: who may see it, written with the intent that tells an output
-- Who may see documents from now on.
-- Differs from SQLite: one statement per batch, lists as arrays.
UPDATE document SET acl = c2, container = c3 FROM {rows:bigint,bigint,bigint} WHERE id = c1
