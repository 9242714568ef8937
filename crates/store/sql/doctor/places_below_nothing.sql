-- Places below one that is not there, or whose own level is not there: nobody finds anything in them.
SELECT p.id, p.parent FROM place p LEFT JOIN place above ON above.id = p.parent LEFT JOIN access_class c ON c.id = p.level
WHERE (p.parent IS NOT NULL AND above.id IS NULL) OR c.id IS NULL LIMIT $1
