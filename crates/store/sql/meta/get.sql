-- One fact about the store.
SELECT value FROM meta WHERE name = $1
