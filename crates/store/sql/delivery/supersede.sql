-- What other owners of an address sent is not what the output holds.
UPDATE delivery SET confirmed = NULL, outcome = 'overwritten' WHERE output = $1 AND address_parent = $2 AND address = $3 AND document <> $4 AND (intended <> $5 OR intended_acl <> $6)
