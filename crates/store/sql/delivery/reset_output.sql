-- Nothing is known to be held by an output that lost its state.
UPDATE delivery SET confirmed = NULL, confirmed_acl = NULL, outcome = 'lost' WHERE output = $1 AND document > $2 AND document <= $3
