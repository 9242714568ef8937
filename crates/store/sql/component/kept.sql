-- Those of these documents of which something could not be read when they were read last.
SELECT DISTINCT document FROM component WHERE kept = 1 AND document IN any_of($1)
