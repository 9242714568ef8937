-- no move: its definition only
-- The same definition with its secrets sealed; nobody has to look at the job again.
UPDATE job SET definition = $2 WHERE handle = $1
