-- What the books say about an output, by address; a document or job that is not there leaves its columns empty.
SELECT v.address_parent, v.address, v.document, v.component, v.sent, v.sent_access, v.held, v.held_access, v.outcome, d.class, d.place, j.handle
FROM delivery v LEFT JOIN document d ON d.id = v.document LEFT JOIN job j ON j.handle = d.job
WHERE v.output = $1 AND (v.address_parent, v.address) > ($2, $3) ORDER BY v.address_parent, v.address LIMIT $4
