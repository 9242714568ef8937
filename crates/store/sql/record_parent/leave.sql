-- Compounds were deleted: records that were not pushed behind a ticket are in them no more, unless a delta run was told so.
DELETE FROM record_parent WHERE epoch <> $3 AND EXISTS (SELECT 1 FROM record r WHERE r.document = record_parent.document AND r.ticket <= $2)
 AND (job, parent_hash, key_hash) IN (SELECT d.job, d.parent_hash, d.key_hash FROM document d WHERE d.id IN any_of($1))
