-- Closes runs that a later run has left behind.
UPDATE run SET ended_at = $1, outcome = 'interrupted' WHERE ended_at IS NULL AND number < (SELECT max(r.number) FROM run r WHERE r.job = run.job)
