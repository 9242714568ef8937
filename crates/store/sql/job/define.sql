-- no move: its definition only
-- Changes the definition of a job that rests.
UPDATE job SET definition = $2, revision = revision + 1 WHERE handle = $1
