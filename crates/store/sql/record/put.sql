-- A record as it was pushed last.
INSERT INTO record (document, job, present, ticket, hash, acl) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (document) DO UPDATE SET present = excluded.present, ticket = excluded.ticket, hash = excluded.hash, acl = excluded.acl
