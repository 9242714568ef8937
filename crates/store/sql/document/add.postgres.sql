-- move: document Meet
-- New documents.
-- Differs from SQLite: one statement per batch, lists as arrays.
INSERT INTO document (id, job, parent, own, version, access, settings, identity, place, changed_run) SELECT c1, c2, c3, c4, c5, c6, c7, c8, c9, c10 FROM {rows:bigint,bigint,bigint,bigint,bigint,bigint,bigint,bigint,bigint,bigint} WHERE true
