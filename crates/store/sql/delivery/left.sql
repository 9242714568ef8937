-- Documents that some output still holds.
SELECT DISTINCT document FROM delivery WHERE document IN any_of($1)
