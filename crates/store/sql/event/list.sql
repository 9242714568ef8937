-- Events that are pending, the oldest first: who holds them, and how many documents wait.
SELECT e.name, COALESCE(j.name, ''), COALESCE(t.key_text, ''), e.taken_at,
 (SELECT count(*) FROM prerequisite p JOIN queue q ON q.document = p.document WHERE p.event = e.name)
FROM event e LEFT JOIN job j ON j.handle = e.job LEFT JOIN document_text t ON t.id = e.document
ORDER BY e.taken_at, e.name LIMIT $1
