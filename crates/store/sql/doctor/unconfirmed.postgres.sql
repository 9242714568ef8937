-- Settled (settings 0: never yet), yet an output does not hold what was sent and did not refuse it. Removals (intended 0) have no work row;
-- what an output holds that was taken out of the job goes with the next run, whatever it is; what is being erased is removed by whoever
-- comes next.
-- Differs from SQLite: its own words for lists in JSON.
SELECT v.document, v.output FROM delivery v JOIN document d ON d.id = v.document LEFT JOIN queue w ON w.document = v.document
 LEFT JOIN failure t ON t.document = v.document
WHERE d.settings <> 0 AND v.intended <> 0 AND (v.confirmed IS DISTINCT FROM v.intended OR v.confirmed_acl IS DISTINCT FROM v.intended_acl)
 AND (v.outcome IS NULL OR v.outcome = 'lost') AND w.document IS NULL AND t.document IS NULL
 AND NOT EXISTS (SELECT 1 FROM job j JOIN connection c ON c.handle = v.output, jsonb_array_elements_text(CAST(j.definition AS jsonb) -> 'retired') r(value) WHERE j.handle = d.job AND r.value = c.name)
 AND NOT EXISTS (SELECT 1 FROM erased e WHERE e.job = d.job AND e.parent_hash = d.parent_hash AND e.key_hash = d.key_hash AND e.done_at IS NULL) LIMIT $1
