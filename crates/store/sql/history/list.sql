-- What became of documents of a job since a time and before a place, the latest first.
SELECT job, at, document, outcome, run, code, name, message, bytes FROM history
WHERE job = $1 AND at >= $2 AND (at, document, outcome) < ($3, $4, $5) ORDER BY at DESC, document DESC, outcome DESC LIMIT $6
