-- What the delivery log says about an output, by address; where a document or component is not there or has lost its name, or its job is
-- not there, the last column is empty.
SELECT v.address_parent, v.address, v.document, v.component, v.intended, v.intended_acl, v.confirmed, v.confirmed_acl, v.outcome, d.acl, d.container,
 CASE WHEN t.id IS NULL OR (v.component <> 0 AND c.document IS NULL) THEN NULL ELSE j.handle END
FROM delivery v LEFT JOIN document d ON d.id = v.document LEFT JOIN job j ON j.handle = d.job LEFT JOIN document_text t ON t.id = d.id
 LEFT JOIN component c ON c.document = v.document AND c.component = v.component
WHERE v.output = $1 AND (v.address_parent, v.address) > ($2, $3) ORDER BY v.address_parent, v.address LIMIT $4
