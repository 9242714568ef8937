-- Every owner of addresses of one output.
SELECT v.address, v.document, v.seq, v.sent, v.sent_access, v.held, v.held_access, d.job
FROM delivery v JOIN document d ON d.id = v.document
WHERE v.output = $1 AND v.address_parent = $2 AND v.address = $3
