-- no move: a fact beside the state
-- Another run of this kind is wanted as soon as the one under way has ended; or none (NULL).
UPDATE job SET restart = $2 WHERE handle = $1
