-- Documents of a job, with their containers, of which an output holds, or may hold, something else than the source was seen to hold: what
-- waits, failed or leaves, what was not confirmed, what could not be read; unless it is hidden (access 1: from everybody). Where another
-- job has sent its own since, what is left of this one's was looked at, unless it waits or failed.
SELECT DISTINCT d.id, d.container FROM document d JOIN delivery v ON v.document = d.id
 LEFT JOIN component c ON c.document = v.document AND c.component = v.component
WHERE d.job = $1 AND d.container IS NOT NULL AND (v.confirmed IS NULL OR v.confirmed <> 0)
 AND NOT (v.confirmed IS NOT DISTINCT FROM v.intended AND v.intended_acl = 1 AND v.confirmed_acl IS NOT DISTINCT FROM 1)
 AND (c.kept = 1
  OR (v.outcome IS DISTINCT FROM 'overwritten'
   AND (v.confirmed IS DISTINCT FROM v.intended OR v.confirmed_acl IS DISTINCT FROM v.intended_acl))
  OR EXISTS (SELECT 1 FROM queue w WHERE w.document = d.id) OR EXISTS (SELECT 1 FROM failure t WHERE t.document = d.id))
