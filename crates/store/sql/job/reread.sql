-- no move: a fact beside the state
-- The next run trusts no version.
UPDATE job SET rereads = rereads + 1 WHERE handle = $1
