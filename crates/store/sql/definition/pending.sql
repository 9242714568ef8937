-- As delivery/pending_access, for an output that is told: with what it was sent and what it holds.
SELECT v.address, d.job, d.class, d.place, v.sent_access, v.held_access, v.outcome FROM work w JOIN delivery v ON v.document = w.document AND +v.output = $1
JOIN document d ON d.id = w.document WHERE w.cause = 'access' LIMIT $2
