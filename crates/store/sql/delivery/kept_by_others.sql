-- How many documents of a job stand at addresses at which outputs hold documents of other jobs, too: those stay.
-- CROSS JOIN keeps the order: SQLite would read all of the output for each document.
SELECT count(*) FROM document d WHERE d.job = $1 AND EXISTS (SELECT 1 FROM delivery v CROSS JOIN delivery o CROSS JOIN document b
 WHERE v.document = d.id AND v.intended <> 0
 AND o.output = v.output AND o.address_parent = v.address_parent AND o.address = v.address AND o.document <> v.document
 AND o.intended <> 0 AND b.id = o.document AND b.job <> $1)
