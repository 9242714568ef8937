-- The level of one class.
SELECT level FROM access_class WHERE id = $1
