-- The compounds that records are in, by their keys; d.id: NULL for one that is no document; the last: 0 where it was deleted.
SELECT p.document, p.parent_hash, p.key_hash, d.id, coalesce(r.present, 1) FROM record_parent p
LEFT JOIN document d ON d.job = p.job AND d.parent_hash = p.parent_hash AND d.key_hash = p.key_hash
LEFT JOIN record r ON r.document = d.id WHERE p.document IN any_of($1)
