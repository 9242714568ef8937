-- Addresses whose new access is known and not confirmed; the plus keeps the planner from walking all that the output holds.
SELECT v.address, d.job, d.acl, d.container FROM queue w JOIN delivery v ON v.document = w.document AND +v.output = $1 JOIN document d ON d.id = w.document WHERE w.reason = 'access' LIMIT $2
