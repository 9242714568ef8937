-- How many documents of one job stand in an output as another job sent them, in a form that is not its own.
-- CROSS JOIN keeps the order: SQLite would read all of the output for each document.
SELECT count(*) FROM document d WHERE d.job = $1 AND EXISTS (SELECT 1 FROM delivery v CROSS JOIN delivery o CROSS JOIN document b
 WHERE v.document = d.id AND v.output = $3 AND v.outcome = 'overwritten'
 AND o.output = v.output AND o.address_parent = v.address_parent AND o.address = v.address AND o.document <> v.document
 AND (o.intended <> v.intended OR o.intended_acl <> v.intended_acl)
 AND o.confirmed = o.intended AND o.intended <> 0 AND b.id = o.document AND b.job = $2)
