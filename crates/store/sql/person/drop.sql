-- All people of an authority go.
DELETE FROM person WHERE authority = $1
