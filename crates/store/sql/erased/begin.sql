-- A person erases a document: from here on no run takes it in. Whoever asks again has it done again.
INSERT INTO erased (job, parent_hash, key_hash, name, at, erased_by, done_at) VALUES ($1, $2, $3, $4, $5, $6, NULL)
ON CONFLICT (job, parent_hash, key_hash) DO UPDATE SET at = excluded.at, erased_by = excluded.erased_by, done_at = NULL
