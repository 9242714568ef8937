-- Documents of a job that an output holds, in the order of their ids.
SELECT v.document, v.seq FROM delivery v JOIN document d ON d.id = v.document WHERE v.output = $1 AND d.job = $2 AND v.document > $3 ORDER BY v.document LIMIT $4
