-- How many people an authority has; where it is said, of those who may enter, or may not.
SELECT count(*) FROM person WHERE authority = $1 AND (active = $2 OR $2 IS NULL)
