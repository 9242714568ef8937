-- Everything that waits or is wrong about one document.
SELECT d.changed_run, CASE WHEN d.settings = 0 AND w.reason IS NULL THEN 'new' ELSE w.reason END,
 CASE WHEN d.settings = 0 AND w.due IS NULL THEN 0 ELSE w.due END, x.kind, x.attempts, x.attempts_max, x.first_at, x.code, x.message
FROM document d LEFT JOIN queue w ON w.document = d.id LEFT JOIN failure x ON x.document = d.id WHERE d.id = $1
