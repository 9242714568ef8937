-- Documents of a job of which a removal was sent and not confirmed; the plus keeps the planner from walking all documents.
SELECT DISTINCT v.document FROM delivery v JOIN document d ON d.id = v.document WHERE v.intended = 0 AND +d.job = $1
