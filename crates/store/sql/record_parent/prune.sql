-- Compounds were met anew by a delta run: what it did not meet in them is in them no more.
DELETE FROM record_parent WHERE epoch <> $2 AND document IN any_of($3) AND EXISTS (SELECT 1 FROM document d
 WHERE d.id IN any_of($1) AND d.job = record_parent.job AND d.parent_hash = record_parent.parent_hash AND d.key_hash = record_parent.key_hash)
