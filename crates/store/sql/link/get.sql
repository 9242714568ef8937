-- What documents lead to.
SELECT document, targets FROM link WHERE document IN any_of($1)
