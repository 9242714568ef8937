-- Counts documents that a pass is about to remove.
INSERT INTO removed (job, minute, documents) VALUES ($1, $2, $3)
ON CONFLICT (job, minute) DO UPDATE SET documents = removed.documents + excluded.documents
