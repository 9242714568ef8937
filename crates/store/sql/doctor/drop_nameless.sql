-- move: document Forget
-- Drops documents without names that no output holds: the next listing finds them new.
DELETE FROM document WHERE NOT EXISTS (SELECT 1 FROM document_text t WHERE t.id = document.id)
 AND NOT EXISTS (SELECT 1 FROM delivery v WHERE v.document = document.id)
