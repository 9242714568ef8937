-- Forgets one fact about the store.
DELETE FROM meta WHERE name = $1
