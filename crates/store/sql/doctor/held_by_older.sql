-- Removals that are held by a run which is not the last one, or by none that could tell. One whose listing broke off may hold
-- what it had looked at completely before, and a pass over what is due what the run before it held.
SELECT r.job, r.number FROM run r JOIN job j ON j.handle = r.job
WHERE r.guard = 'held' AND (r.number < j.run OR r.held IS NULL) LIMIT $1
