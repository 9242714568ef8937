-- Nothing is known to be held by an output that lost its state.
UPDATE delivery SET held = NULL, held_access = NULL, outcome = 'lost' WHERE output = $1 AND document > $2 AND document <= $3
