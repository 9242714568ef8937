-- All classes.
SELECT id, level FROM access_class
