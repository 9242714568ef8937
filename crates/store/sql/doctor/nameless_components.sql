-- Deliveries of components without names: nobody could take their entries out.
SELECT v.document, v.output FROM delivery v LEFT JOIN component c ON c.document = v.document AND c.component = v.component
WHERE v.component <> 0 AND c.document IS NULL LIMIT $1
