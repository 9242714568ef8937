-- Forgets runs of a job that began before a time, but for the last one that was done and all behind it: what follows from runs follows from
-- these.
DELETE FROM run WHERE job = $1 AND started_at < $2
AND number < coalesce((SELECT number FROM run AS done WHERE done.job = $1 AND done.outcome = 'done' ORDER BY done.number DESC LIMIT 1), 0)
