-- Whether an output may hold a document of a job with other access than its row says: what was not confirmed, and what was to be removed and
-- is not yet, by the container that it was in then. Where another owner's version took its place, the output holds that one, by the other
-- owner's access.
SELECT d.id FROM document d JOIN delivery v ON v.document = d.id
WHERE d.job = $1 AND v.outcome IS DISTINCT FROM 'overwritten'
 AND ((v.intended <> 0 AND v.confirmed_acl IS DISTINCT FROM v.intended_acl) OR (v.intended = 0 AND v.confirmed IS DISTINCT FROM 0)) LIMIT 1
