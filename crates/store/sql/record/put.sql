-- Records as they were pushed last.
INSERT INTO record (document, job, present, ticket, hash, acl, buffered_since, client_version, is_compound, pending_hash)
SELECT c1, c2, c3, c4, c5, c6, c7, c8, c9, c10 FROM {rows:bigint,bigint,bigint,bigint,text,text,bigint,bigint,bigint,text} WHERE true
ON CONFLICT (document) DO UPDATE SET present = excluded.present, ticket = excluded.ticket, hash = excluded.hash, acl = excluded.acl,
 buffered_since = excluded.buffered_since, client_version = excluded.client_version, is_compound = excluded.is_compound,
 pending_hash = excluded.pending_hash
