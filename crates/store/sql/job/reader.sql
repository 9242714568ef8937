-- no move: who read last
-- Remembers who read the source.
UPDATE job SET reader = $2 WHERE handle = $1
