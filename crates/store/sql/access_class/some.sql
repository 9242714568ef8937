-- Some classes.
SELECT id, level FROM access_class WHERE id IN any_of($1)
