-- move: job Forget
-- The last document of a deleted job is gone.
DELETE FROM job WHERE handle = $1 AND state = 'deleting'
