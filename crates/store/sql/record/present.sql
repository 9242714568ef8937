-- Those of documents whose records are to be there.
SELECT document FROM record WHERE document IN any_of($1) AND present = 1
