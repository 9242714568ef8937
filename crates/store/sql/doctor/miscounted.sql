-- Jobs with a counter of documents that is not their number, in all or in one state, and how many such counters.
SELECT job, count(*) FROM (
 SELECT c.job AS job, c.name AS name FROM (
  SELECT d.job AS job, 'documents' AS name, count(*) AS n FROM document d GROUP BY d.job
  UNION ALL SELECT d.job, CASE WHEN x.kind IN ('failed', 'skipped') THEN x.kind ELSE 'settled' END, count(*)
  FROM document d LEFT JOIN queue w ON w.document = d.id LEFT JOIN failure x ON x.document = d.id
  WHERE d.settings <> 0 AND w.document IS NULL GROUP BY 1, 2
  UNION ALL SELECT job, name, -n FROM tally) c JOIN job j ON j.handle = c.job
 GROUP BY c.job, c.name HAVING sum(c.n) <> 0) m GROUP BY job LIMIT $1
