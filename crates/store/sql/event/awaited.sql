-- Events that documents of a job wait for, the oldest first: who holds them, and how many of these documents wait.
SELECT e.name, COALESCE(j.name, ''), COALESCE(t.key_text, ''), e.taken_at, w.documents
FROM event e JOIN (SELECT p.event, count(*) AS documents FROM queue q JOIN prerequisite p ON p.document = q.document
 WHERE q.job = $1 AND p.event IN (SELECT name FROM event) GROUP BY p.event) w ON w.event = e.name
LEFT JOIN job j ON j.handle = e.job LEFT JOIN document_text t ON t.id = e.document
ORDER BY e.taken_at, e.name LIMIT $2
