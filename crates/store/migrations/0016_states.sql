-- the documents of jobs by state: settled, failed, skipped; all others wait (`crates/store/src/documents/states.rs`)
INSERT INTO tally (job, name, n) SELECT d.job, CASE WHEN x.kind IN ('failed', 'skipped') THEN x.kind ELSE 'settled' END, count(*)
  FROM document d LEFT JOIN queue w ON w.document = d.id LEFT JOIN failure x ON x.document = d.id
  WHERE d.settings <> 0 AND w.document IS NULL GROUP BY 1, 2;
