-- Keeps a record as it is, before a channel pushes over it.
INSERT INTO record_before (document, channel, present, ticket, hash, acl, client_version, about, content)
SELECT r.document, $2, 1, r.ticket, r.hash, r.acl, r.client_version, c.about, c.content FROM record r JOIN record_content c ON c.document = r.document
WHERE r.document = $1 AND r.present = 1 ON CONFLICT (document) DO NOTHING
