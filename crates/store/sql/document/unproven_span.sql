-- The same as unproven for a job that has most documents between two ids: what was not confirmed is found by one walk over deliveries, in
-- place of a look at each document's. What hardly any row meets is asked first: 5.1 ms in place of 8.8 for 60,000 rows.
SELECT d.id, d.container FROM delivery v CROSS JOIN document d
WHERE v.document BETWEEN $2 AND $3
 AND (v.confirmed IS DISTINCT FROM v.intended OR v.confirmed_acl IS DISTINCT FROM v.intended_acl)
 AND (v.confirmed IS NULL OR v.confirmed <> 0) AND v.outcome IS DISTINCT FROM 'overwritten'
 AND d.id = v.document AND d.job = $1 AND d.container IS NOT NULL
UNION ALL
SELECT d.id, d.container FROM component c CROSS JOIN delivery v CROSS JOIN document d
WHERE c.document BETWEEN $2 AND $3 AND c.kept = 1 AND v.document = c.document AND v.component = c.component
 AND (v.confirmed IS NULL OR v.confirmed <> 0)
 AND NOT (v.confirmed IS NOT DISTINCT FROM v.intended AND v.intended_acl = 1 AND v.confirmed_acl IS NOT DISTINCT FROM 1)
 AND d.id = c.document AND d.job = $1 AND d.container IS NOT NULL
UNION ALL
SELECT d.id, d.container FROM queue w CROSS JOIN delivery v CROSS JOIN document d
WHERE w.job = $1 AND v.document = w.document AND (v.confirmed IS NULL OR v.confirmed <> 0)
 AND NOT (v.confirmed IS NOT DISTINCT FROM v.intended AND v.intended_acl = 1 AND v.confirmed_acl IS NOT DISTINCT FROM 1)
 AND d.id = w.document AND d.job = $1 AND d.container IS NOT NULL
UNION ALL
SELECT d.id, d.container FROM failure t CROSS JOIN delivery v CROSS JOIN document d
WHERE t.job = $1 AND v.document = t.document AND (v.confirmed IS NULL OR v.confirmed <> 0)
 AND NOT (v.confirmed IS NOT DISTINCT FROM v.intended AND v.intended_acl = 1 AND v.confirmed_acl IS NOT DISTINCT FROM 1)
 AND d.id = t.document AND d.job = $1 AND d.container IS NOT NULL
