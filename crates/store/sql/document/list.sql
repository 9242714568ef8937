-- Documents of a job with what is known of them, in the order of their ids; the plus keeps the planner from sorting by key.
SELECT d.id, t.key_text, d.changed_run, CASE WHEN d.settings = 0 AND w.reason IS NULL THEN 'new' ELSE w.reason END,
 CASE WHEN d.settings = 0 AND w.due IS NULL THEN 0 ELSE w.due END, x.kind, x.code, x.message
FROM document d JOIN document_text t ON t.id = d.id LEFT JOIN queue w ON w.document = d.id LEFT JOIN failure x ON x.document = d.id
WHERE +d.job = $1 AND d.id > $2 ORDER BY d.id LIMIT $3
