-- Deliveries of documents or jobs that are not there, or of what has lost its name, once the output was looked through and holds
-- nothing of them.
DELETE FROM delivery WHERE output = $1 AND (NOT EXISTS
 (SELECT 1 FROM document d JOIN job j ON j.handle = d.job JOIN document_text t ON t.id = d.id WHERE d.id = delivery.document)
 OR (component <> 0 AND NOT EXISTS
 (SELECT 1 FROM component c WHERE c.document = delivery.document AND c.component = delivery.component)))
