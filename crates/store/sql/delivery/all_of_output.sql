-- Every document of an output, as often as it has deliveries, in the order of their ids; the plus keeps the planner from
-- sorting by address.
SELECT v.document, d.job FROM delivery v JOIN document d ON d.id = v.document
WHERE +v.output = $1 AND v.document > $2 ORDER BY v.document LIMIT $3
