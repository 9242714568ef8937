-- How often visits are wanted, and why.
SELECT document, request_count, reason FROM queue WHERE document IN any_of($1)
