-- These documents of a job hand nothing down any more.
DELETE FROM handed_down WHERE job = $1 AND parent IN any_of($2)
