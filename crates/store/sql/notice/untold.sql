-- What could not be told of a job, or nobody has tried to tell since before a time, the latest first.
SELECT id, at, job, run, event, notifier, body, state, attempts, due, error FROM notice
WHERE job = $1 AND state <> 'sent' AND (attempts > 0 OR at <= $3) ORDER BY at DESC LIMIT $2
