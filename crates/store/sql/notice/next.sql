-- When the next attempt is due.
SELECT due FROM notice WHERE state = 'waiting' ORDER BY due, id LIMIT 1
