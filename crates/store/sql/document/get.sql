-- Documents by id, with their names.
SELECT d.id, d.key_hash, d.version, d.access, d.settings, d.acl, d.container, t.key_text, d.identity FROM document d JOIN document_text t ON t.id = d.id WHERE d.id IN any_of($1)
