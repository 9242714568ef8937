-- Documents of a job of which a removal was sent and not confirmed.
SELECT DISTINCT v.document FROM delivery v JOIN document d ON d.id = v.document WHERE v.sent = 0 AND d.job = $1
