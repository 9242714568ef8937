-- Addresses that are not derived from keys.
SELECT document, output, uri FROM delivery_uri WHERE document IN any_of($1)
