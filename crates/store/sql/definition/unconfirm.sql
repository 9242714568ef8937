-- An output that was cut is told again all that it was ever told: an entry in it may refer to what no row refers to any more.
UPDATE definition SET confirmed = NULL WHERE output = $1 AND kind IN ('acl', 'container')
