-- What the pipeline made of a document.
SELECT e.version, e.stages, e.head, t.bytes, e.digest FROM extract e LEFT JOIN extract_text t ON t.digest = e.digest WHERE e.document = $1
