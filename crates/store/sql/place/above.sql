-- Places and all that are above them.
WITH RECURSIVE up(id, level, parent) AS (SELECT id, level, parent FROM place WHERE id IN any_of($1)
 UNION SELECT p.id, p.level, p.parent FROM up JOIN place p ON p.id = up.parent)
SELECT id, level, parent FROM up
