-- Nothing is known to be defined in an output that was cut, or is another one now; of one kind or, with an empty word, of all.
DELETE FROM definition WHERE output = $1 AND ($2 = '' OR kind = $2)
