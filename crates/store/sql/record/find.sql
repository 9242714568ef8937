-- A record with all that was pushed of it, by its key.
SELECT r.ticket, r.acl, c.about, c.content FROM document d JOIN record r ON r.document = d.id JOIN record_content c ON c.document = r.document
WHERE d.job = $1 AND d.parent_hash = $2 AND d.key_hash = $3 AND r.present = 1
