-- no move: a pause is a fact beside the state
-- A person pauses it (1), or ends the pause (0).
UPDATE job SET paused = $2 WHERE handle = $1
