-- Those of these documents of which a removal was sent and not confirmed.
SELECT DISTINCT document FROM delivery WHERE intended = 0 AND document IN any_of($1)
