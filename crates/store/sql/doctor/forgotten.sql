-- Neither waiting, nor in trouble, nor delivered anywhere.
SELECT d.id, d.job FROM document d LEFT JOIN work w ON w.document = d.id LEFT JOIN trouble t ON t.document = d.id
 LEFT JOIN delivery v ON v.document = d.id WHERE w.document IS NULL AND t.document IS NULL AND v.document IS NULL LIMIT $1
