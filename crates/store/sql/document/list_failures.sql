-- The same for documents whose last visit ended in one way, in the order of their ids: by the index of failures.
SELECT d.id, d.parent_hash, d.key_hash, t.key_text, d.changed_run,
 CASE WHEN d.settings = 0 AND w.reason IS NULL THEN 'new' ELSE w.reason END,
 CASE WHEN d.settings = 0 AND w.due IS NULL THEN 0 ELSE w.due END, x.kind, x.code, x.message, w.request_count
FROM failure x JOIN document d ON d.id = x.document JOIN document_text t ON t.id = d.id LEFT JOIN queue w ON w.document = d.id
WHERE x.job = $1 AND x.kind = $2 AND x.document > $3 ORDER BY x.document LIMIT $4
