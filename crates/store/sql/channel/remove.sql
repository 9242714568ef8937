-- A channel is forgotten.
DELETE FROM channel WHERE id = $1
