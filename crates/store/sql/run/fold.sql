-- Forgets one run in whose place another one stands.
DELETE FROM run WHERE job = $1 AND number = $2
