-- Other names of what a document was: asked by a person about one that is gone, so it may read all of the job.
SELECT t.key_text FROM document d JOIN document_text t ON t.id = d.id WHERE d.job = $1 AND d.identity = $2 AND d.id <> $3 LIMIT 1
