-- Neither waiting (settings 0: for its first visit), nor failed, nor delivered anywhere, nor being erased.
SELECT d.id, d.job FROM document d LEFT JOIN queue w ON w.document = d.id LEFT JOIN failure t ON t.document = d.id
 LEFT JOIN delivery v ON v.document = d.id WHERE d.settings <> 0 AND w.document IS NULL AND t.document IS NULL AND v.document IS NULL
 AND NOT EXISTS (SELECT 1 FROM erased e WHERE e.job = d.job AND e.parent_hash = d.parent_hash AND e.key_hash = d.key_hash AND e.done_at IS NULL) LIMIT $1
