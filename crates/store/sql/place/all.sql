-- All places, for judging.
SELECT id, parent, level FROM place ORDER BY id
