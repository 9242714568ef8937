-- It is noted no more.
DELETE FROM history_from WHERE job = $1 AND kind = $2
