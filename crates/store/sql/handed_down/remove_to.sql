-- Nothing is handed down to documents that are gone.
DELETE FROM handed_down WHERE child IN any_of($1)
