-- no move: by what everything of it was looked at
UPDATE job SET looked = $2 WHERE handle = $1
