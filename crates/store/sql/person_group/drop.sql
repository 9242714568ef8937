-- All groups of people of an authority go.
DELETE FROM person_group WHERE authority = $1
