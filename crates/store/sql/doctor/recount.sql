-- Counts the documents of every job, and those in each state.
INSERT INTO tally (job, name, n) SELECT d.job, 'documents', count(*) FROM document d GROUP BY d.job
UNION ALL SELECT d.job, CASE WHEN x.kind IN ('failed', 'skipped') THEN x.kind ELSE 'settled' END, count(*)
FROM document d LEFT JOIN queue w ON w.document = d.id LEFT JOIN failure x ON x.document = d.id
WHERE d.settings <> 0 AND w.document IS NULL GROUP BY 1, 2
