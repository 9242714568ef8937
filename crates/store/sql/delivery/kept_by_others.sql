-- How many documents of a job stand at addresses at which outputs hold documents of other jobs, too: those stay.
SELECT count(*) FROM document d WHERE d.job = $1 AND EXISTS (SELECT 1 FROM delivery v JOIN delivery o
 ON o.output = v.output AND o.address_parent = v.address_parent AND o.address = v.address AND o.document <> v.document
 JOIN document b ON b.id = o.document
 WHERE v.document = d.id AND v.intended <> 0 AND o.intended <> 0 AND b.job <> $1)
