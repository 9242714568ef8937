-- What versions of records are told by is forgotten.
UPDATE record SET hash = NULL WHERE document IN any_of($1) AND hash IS NOT NULL
