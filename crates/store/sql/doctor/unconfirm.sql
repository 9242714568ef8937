-- What an output is said to hold is not known any more.
UPDATE delivery SET held = NULL, held_access = NULL, outcome = 'lost' WHERE document = $1 AND output = $2 AND sent <> 0
