-- move: document Meet
-- New documents.
-- Differs from SQLite: one statement per batch, lists as arrays.
INSERT INTO document (id, job, parent_hash, key_hash, version, access, settings, identity, container, changed_run) SELECT c1, c2, c3, c4, c5, c6, c7, c8, c9, c10 FROM {rows:bigint,bigint,bigint,bigint,bigint,bigint,bigint,bigint,bigint,bigint} WHERE true
