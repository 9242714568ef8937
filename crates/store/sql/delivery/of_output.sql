-- Documents of a job that an output holds, as often as they have deliveries, in the order of their ids; the plus keeps the
-- planner from sorting by key.
SELECT v.document FROM document d JOIN delivery v ON v.document = d.id AND +v.output = $1
WHERE +d.job = $2 AND d.id > $3 ORDER BY d.id LIMIT $4
