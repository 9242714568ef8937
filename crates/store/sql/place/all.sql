-- All places, for judging.
SELECT id, parent, level, wider, also FROM place ORDER BY id
