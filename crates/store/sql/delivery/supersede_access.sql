-- What other owners of an address told about access is not what the output holds.
UPDATE delivery SET confirmed_acl = -1, outcome = 'overwritten' WHERE output = $1 AND address_parent = $2 AND address = $3 AND document <> $4 AND intended_acl <> $5
