-- Documents of a job of which something is kept; the plus keeps the planner from sorting by key.
SELECT e.document FROM extract e JOIN document d ON d.id = e.document WHERE +d.job = $1 AND e.document > $2 ORDER BY e.document LIMIT $3
