-- Documents that are to be tried again, without a visit that would. What is being erased has none.
SELECT t.document, t.job FROM failure t JOIN document d ON d.id = t.document LEFT JOIN queue w ON w.document = t.document
WHERE t.kind = 'retrying' AND w.document IS NULL
 AND NOT EXISTS (SELECT 1 FROM erased e WHERE e.job = d.job AND e.parent_hash = d.parent_hash AND e.key_hash = d.key_hash AND e.done_at IS NULL) LIMIT $1
