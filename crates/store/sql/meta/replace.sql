-- Changes one fact about the store from what it was seen to be.
UPDATE meta SET value = $2 WHERE name = $1 AND value = $3
