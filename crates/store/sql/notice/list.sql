-- Before a place, the latest first.
SELECT id, at, job, run, event, notifier, body, state, attempts, due, error FROM notice WHERE (at, id) < ($1, $2) ORDER BY at DESC, id DESC LIMIT $3
