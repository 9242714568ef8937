-- How many documents of one job stand in an output as another job sent them.
SELECT count(*) FROM document d WHERE d.job = $1 AND EXISTS (SELECT 1 FROM delivery v JOIN delivery o
 ON o.output = v.output AND o.address_parent = v.address_parent AND o.address = v.address AND o.document <> v.document
 JOIN document b ON b.id = o.document
 WHERE v.document = d.id AND v.output = $3 AND v.outcome = 'overwritten' AND o.confirmed = o.intended AND o.intended <> 0 AND b.job = $2)
