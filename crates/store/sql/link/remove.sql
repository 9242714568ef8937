-- Nobody asks any more what these documents led to.
DELETE FROM link WHERE document IN any_of($1)
