-- The same for documents that have a row in the queue, in the order of their ids: by the index of the queue.
SELECT d.id, d.parent_hash, d.key_hash, t.key_text, d.changed_run,
 CASE WHEN d.settings = 0 AND w.reason IS NULL THEN 'new' ELSE w.reason END,
 CASE WHEN d.settings = 0 AND w.due IS NULL THEN 0 ELSE w.due END, x.kind, x.code, x.message, w.request_count
FROM queue w JOIN document d ON d.id = w.document JOIN document_text t ON t.id = d.id LEFT JOIN failure x ON x.document = d.id
WHERE w.job = $1 AND w.document > $2 ORDER BY w.document LIMIT $3
