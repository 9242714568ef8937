-- Documents of a job, with their places, of which an output holds, or may hold, something else than the source was seen to hold: what
-- waits, failed or leaves, what was not confirmed, what could not be read; unless it is hidden (access 1: from everybody). Where another
-- job has sent its own since, what is left of this one's was looked at, unless it waits or failed.
SELECT DISTINCT d.id, d.place FROM document d JOIN delivery v ON v.document = d.id
 LEFT JOIN component c ON c.document = v.document AND c.component = v.component
WHERE d.job = $1 AND d.place IS NOT NULL AND (v.held IS NULL OR v.held <> 0)
 AND NOT (v.held IS NOT DISTINCT FROM v.sent AND v.sent_access = 1 AND v.held_access IS NOT DISTINCT FROM 1)
 AND (c.kept = 1
  OR (v.outcome IS DISTINCT FROM 'overwritten'
   AND (v.held IS DISTINCT FROM v.sent OR v.held_access IS DISTINCT FROM v.sent_access))
  OR EXISTS (SELECT 1 FROM work w WHERE w.document = d.id) OR EXISTS (SELECT 1 FROM trouble t WHERE t.document = d.id))
