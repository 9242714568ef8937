-- Documents by id, with their names.
SELECT d.id, d.own, d.version, d.access, d.settings, d.class, d.place, t.key_text, d.identity FROM document d JOIN document_text t ON t.id = d.id WHERE d.id IN any_of($1)
