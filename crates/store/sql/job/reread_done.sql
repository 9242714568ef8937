-- no move: a fact beside the state
-- A run has read everything again, and nobody has asked for it since that run began.
UPDATE job SET rereads = 0 WHERE handle = $1 AND rereads = $2
