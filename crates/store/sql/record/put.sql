-- A record as it was pushed last.
INSERT INTO record (document, job, present, ticket, hash, acl, buffered_since, client_version)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (document) DO UPDATE SET present = excluded.present, ticket = excluded.ticket, hash = excluded.hash, acl = excluded.acl,
 buffered_since = excluded.buffered_since, client_version = excluded.client_version
