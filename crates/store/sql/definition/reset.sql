-- Nothing is known to be defined in an output that is another one now.
DELETE FROM definition WHERE output = $1
