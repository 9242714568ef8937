-- What the pipeline made of a document, in place of what it made before.
INSERT INTO extract (document, version, stages, digest, head) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (document) DO UPDATE SET version = excluded.version, stages = excluded.stages, digest = excluded.digest, head = excluded.head
