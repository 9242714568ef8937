-- Keeps a record as outputs have it, where none is kept already, before something is pushed over it.
INSERT INTO record_before (document, ticket, hash, acl, about, content)
SELECT r.document, r.ticket, r.hash, r.acl, c.about, c.content FROM record r JOIN record_content c ON c.document = r.document
WHERE r.document = $1 AND r.present = 1 ON CONFLICT (document) DO NOTHING
