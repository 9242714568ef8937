-- no move: a fact beside the state
-- Another run of this kind is wanted behind the one under way, which is about to be stopped, unless a person has stopped it or it is over.
UPDATE job SET restart = $2 WHERE handle = $1 AND state NOT IN ('stopping', 'resting', 'deleting')
