-- Deliveries that stand of documents of a job: those whose entry another job has sent, as far as that job waits for a
-- container to open. Where the entry of an owner served for another one, that one is `shared`, and has sent nothing.
SELECT v.document, v.component, v.output, d.container, b.job FROM document d JOIN delivery v ON v.document = d.id
 JOIN delivery o ON o.output = v.output AND o.address_parent = v.address_parent AND o.address = v.address AND o.document <> v.document
 JOIN document b ON b.id = o.document
WHERE d.id IN any_of($2) AND d.container IS NOT NULL AND b.job <> $1 AND EXISTS (SELECT 1 FROM container_pending n WHERE n.job = b.job)
 AND v.confirmed = v.intended AND v.intended <> 0 AND v.confirmed_acl = v.intended_acl AND v.intended_acl <> 1 AND o.intended = v.intended
 AND (v.outcome = 'shared' OR (v.outcome IS NULL AND o.seq > v.seq AND o.outcome IS DISTINCT FROM 'shared'))
 AND NOT EXISTS (SELECT 1 FROM queue w WHERE w.document = d.id) AND NOT EXISTS (SELECT 1 FROM failure t WHERE t.document = d.id)
