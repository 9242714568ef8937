-- The next number of a name that nobody was given yet.
SELECT next FROM id_block WHERE name = $1
