-- Those of these documents that have expired.
SELECT document FROM failure WHERE document IN any_of($1) AND code = 'expired'
