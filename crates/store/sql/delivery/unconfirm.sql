-- What an output is said to hold is not known any more.
UPDATE delivery SET confirmed = NULL, confirmed_acl = NULL, outcome = 'lost' FROM {rows:bigint,bigint} WHERE document = c1 AND output = c2 AND intended <> 0
