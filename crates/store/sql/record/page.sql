-- Records of a job that are to be there, after one, by id.
SELECT r.document, t.key_text, r.ticket, r.acl FROM record r JOIN document_text t ON t.id = r.document
WHERE r.job = $1 AND r.document > $2 AND r.present = 1 ORDER BY r.document LIMIT $3
