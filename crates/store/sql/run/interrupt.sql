-- Closes runs whose process died.
UPDATE run SET ended_at = $2, outcome = 'interrupted' WHERE job = $1 AND ended_at IS NULL
