-- What is in compounds that are documents.
SELECT p.document FROM document d JOIN record_parent p ON p.job = d.job AND p.parent_hash = d.parent_hash AND p.key_hash = d.key_hash
WHERE d.id IN any_of($1)
