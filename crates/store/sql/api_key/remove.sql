-- Takes a key back.
DELETE FROM api_key WHERE name = $1
