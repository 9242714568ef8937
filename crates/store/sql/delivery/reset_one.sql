-- An output does not hold one entry any more; what it holds of the same document beside it is not spoken of, nor is what was sent since.
UPDATE delivery SET confirmed = NULL, confirmed_acl = NULL, outcome = 'lost' WHERE output = $1 AND document = $2 AND component = $3 AND seq = $4 AND intended <> 0
