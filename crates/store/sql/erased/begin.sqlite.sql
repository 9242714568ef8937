-- A person erases a document: from here on no run takes it in. Whoever asks again has it done again
-- where it is known ($8), and it stays erased since the first time. Of a job that is gone there is nothing to erase.
-- Differs from PostgreSQL: no job goes meanwhile.
INSERT INTO erased (job, parent_hash, key_hash, name, at, erased_by, done_at, address)
SELECT $1, $2, $3, $4, $5, $6, NULL, $7 WHERE EXISTS (SELECT 1 FROM job WHERE handle = $1)
ON CONFLICT (job, parent_hash, key_hash) DO UPDATE SET done_at = CASE WHEN CAST($8 AS BIGINT) = 1 THEN NULL ELSE erased.done_at END, address = excluded.address
