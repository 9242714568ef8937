-- As delivery/pending_access, for an output that is told: with what it was sent and what it holds.
SELECT v.address, d.job, d.acl, d.container, v.intended_acl, v.confirmed_acl, v.outcome FROM queue w JOIN delivery v ON v.document = w.document AND +v.output = $1
JOIN document d ON d.id = w.document WHERE w.reason = 'access' LIMIT $2
