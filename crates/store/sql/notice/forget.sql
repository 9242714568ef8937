-- Forgets so many of the oldest notices from before a time.
DELETE FROM notice WHERE id IN (SELECT id FROM notice WHERE at < $1 ORDER BY at, id LIMIT $2)
