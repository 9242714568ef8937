-- Documents without their names.
SELECT d.id, d.job FROM document d LEFT JOIN document_text t ON t.id = d.id WHERE t.id IS NULL LIMIT $1
