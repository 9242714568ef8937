-- What was pushed over records is delivered, or they are gone.
DELETE FROM record_before WHERE document IN any_of($1)
