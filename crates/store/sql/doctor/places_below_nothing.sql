-- Places below one that is not there: nobody finds anything in them.
SELECT p.id, p.parent FROM place p LEFT JOIN place above ON above.id = p.parent WHERE p.parent IS NOT NULL AND above.id IS NULL LIMIT $1
