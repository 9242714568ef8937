-- no move: a fact beside the state
-- Why the next run could not begin, until one does.
UPDATE job SET error = $2 WHERE handle = $1 AND state <> 'deleting'
