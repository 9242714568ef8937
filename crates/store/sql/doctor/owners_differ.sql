-- Owners of one address of which each is said to hold something else.
SELECT v.document, v.output FROM delivery v JOIN (SELECT output, address_parent, address FROM delivery
 WHERE confirmed = intended AND confirmed <> 0 GROUP BY output, address_parent, address HAVING count(DISTINCT confirmed) > 1) g
 ON g.output = v.output AND g.address_parent = v.address_parent AND g.address = v.address
WHERE v.confirmed = v.intended AND v.confirmed <> 0 LIMIT $1
