-- A record with all that was pushed of it.
SELECT r.ticket, r.acl, c.about, c.content FROM record r JOIN record_content c ON c.document = r.document
WHERE r.document = $1 AND r.present = 1
