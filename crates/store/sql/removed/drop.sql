-- Forgets what passes of a job removed before a minute.
DELETE FROM removed WHERE job = $1 AND minute < $2
