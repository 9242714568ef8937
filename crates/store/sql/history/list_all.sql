-- The same of all jobs.
SELECT job, at, document, outcome, run, code, name, message, bytes FROM history
WHERE at >= $1 AND (at, job, document, outcome) < ($2, $3, $4, $5) ORDER BY at DESC, job DESC, document DESC, outcome DESC LIMIT $6
