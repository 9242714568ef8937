-- Whether an output may hold a document of a job with other access than it was told last.
SELECT d.id FROM document d JOIN delivery v ON v.document = d.id
WHERE d.job = $1 AND v.sent <> 0 AND v.held_access IS DISTINCT FROM v.sent_access LIMIT 1
