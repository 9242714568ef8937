-- What was pushed of records that are gone.
DELETE FROM record_content WHERE document IN any_of($1)
