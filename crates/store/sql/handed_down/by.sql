-- What documents of a job hand down.
SELECT parent, child, data FROM handed_down WHERE job = $1 AND parent IN any_of($2)
