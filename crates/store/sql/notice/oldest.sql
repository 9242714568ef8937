-- When the oldest notice happened.
SELECT at FROM notice ORDER BY at, id LIMIT 1
