-- Deliveries of documents or jobs that are not there, once the output was looked through and holds nothing of them.
DELETE FROM delivery WHERE output = $1 AND NOT EXISTS
 (SELECT 1 FROM document d JOIN job j ON j.handle = d.job WHERE d.id = delivery.document)
