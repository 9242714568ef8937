-- Records and tickets that are open of documents that are not there.
SELECT n.document, CAST(NULL AS BIGINT) FROM (SELECT r.document FROM record r LEFT JOIN document d ON d.id = r.document AND d.job = r.job
 WHERE d.id IS NULL UNION SELECT c.document FROM record_content c LEFT JOIN record r ON r.document = c.document WHERE r.document IS NULL
 UNION SELECT p.document FROM record_parent p LEFT JOIN record r ON r.document = p.document WHERE r.document IS NULL
 UNION SELECT coalesce(t.document, 0) FROM ticket t LEFT JOIN document d ON d.id = t.document WHERE t.report IS NULL AND d.id IS NULL) n LIMIT $1
