-- no move: keeps other transactions off these documents until this one ends
-- In the order of their ids, so that two of them do not wait for each other.
-- Differs from SQLite: other transactions may write meanwhile.
SELECT id FROM document WHERE id IN any_of($1) ORDER BY id FOR NO KEY UPDATE
