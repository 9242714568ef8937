-- Documents of a job with what is known of them, in key order: by the key index, which is of one job alone.
SELECT d.id, d.parent_hash, d.key_hash, t.key_text, d.changed_run,
 CASE WHEN d.settings = 0 AND w.reason IS NULL THEN 'new' ELSE w.reason END,
 CASE WHEN d.settings = 0 AND w.due IS NULL THEN 0 ELSE w.due END, x.kind, x.code, x.message, w.request_count
FROM document d JOIN document_text t ON t.id = d.id LEFT JOIN queue w ON w.document = d.id LEFT JOIN failure x ON x.document = d.id
WHERE d.job = $1 AND (d.parent_hash, d.key_hash) > ($2, $3) ORDER BY d.parent_hash, d.key_hash LIMIT $4
