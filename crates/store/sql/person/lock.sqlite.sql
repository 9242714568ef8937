-- Which of these people there are; none of them goes until this transaction ends.
-- Differs from PostgreSQL: whoever writes is alone.
SELECT id FROM person WHERE authority = $1 AND id IN any_of($2)
