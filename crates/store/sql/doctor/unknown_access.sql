-- Documents whose class or place is not there: nobody finds them.
SELECT d.id, d.job FROM document d LEFT JOIN access_class c ON c.id = d.class LEFT JOIN place p ON p.id = d.place
WHERE (d.class IS NOT NULL AND c.id IS NULL) OR (d.place IS NOT NULL AND p.id IS NULL) LIMIT $1
