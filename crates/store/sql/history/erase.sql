-- What was noted of a document of that name at these times.
DELETE FROM history WHERE job = $1 AND at IN any_of($3) AND name = $2
