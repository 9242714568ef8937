-- Documents that are to be tried again, without a visit that would.
SELECT t.document, t.job FROM failure t JOIN document d ON d.id = t.document LEFT JOIN queue w ON w.document = t.document
WHERE t.kind = 'retrying' AND w.document IS NULL LIMIT $1
