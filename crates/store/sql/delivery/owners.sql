-- Every owner of addresses of one output.
SELECT v.address, v.document, v.seq, v.intended, v.intended_acl, v.confirmed, v.confirmed_acl, d.job
FROM delivery v JOIN document d ON d.id = v.document
WHERE v.output = $1 AND v.address_parent = $2 AND v.address = $3
