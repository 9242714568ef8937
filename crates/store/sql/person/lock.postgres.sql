-- Which of these people there are; none of them goes until this transaction ends.
-- Differs from SQLite: there whoever writes is alone.
SELECT id FROM person WHERE authority = $1 AND id IN any_of($2) ORDER BY id FOR KEY SHARE
