-- Whether an output may hold a document of a job with other access than it was told last. Where another owner's version took its place, the
-- output holds that one, by the other owner's access.
SELECT d.id FROM document d JOIN delivery v ON v.document = d.id
WHERE d.job = $1 AND v.intended <> 0 AND v.confirmed_acl IS DISTINCT FROM v.intended_acl AND v.outcome IS DISTINCT FROM 'overwritten' LIMIT 1
