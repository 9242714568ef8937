-- As delivery/pending_access, for an output that is told: with what it was sent and what it holds, and another owner of the address.
SELECT v.address, d.job, d.acl, d.container, v.intended_acl, v.confirmed_acl, v.outcome,
 (SELECT max(o.document) FROM delivery o WHERE o.output = v.output AND o.address_parent = v.address_parent AND o.address = v.address AND o.document <> v.document)
FROM queue w JOIN delivery v ON v.document = w.document AND +v.output = $1
JOIN document d ON d.id = w.document WHERE w.reason = 'access' LIMIT $2
