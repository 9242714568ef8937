-- Events that documents of a job wait for, the oldest first: who holds them, and how many of these documents wait. From the few events on,
-- however much waits for something else.
SELECT e.name, COALESCE(j.name, ''), COALESCE(t.key_text, ''), e.taken_at, w.documents
FROM (SELECT p.event, count(*) AS documents FROM event f CROSS JOIN prerequisite p CROSS JOIN queue q
 WHERE p.event = f.name AND q.document = p.document AND q.job = $1 GROUP BY p.event) w JOIN event e ON e.name = w.event
LEFT JOIN job j ON j.handle = e.job LEFT JOIN document_text t ON t.id = e.document
ORDER BY e.taken_at, e.name LIMIT $2
