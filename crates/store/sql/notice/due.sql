-- What is to be told by now, what is due longest first.
SELECT id, at, job, run, event, notifier, body, state, attempts, due, error FROM notice WHERE state = 'waiting' AND due <= $1
ORDER BY due, id LIMIT $2
