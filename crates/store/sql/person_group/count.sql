-- How many groups of people an authority has.
SELECT count(*) FROM person_group WHERE authority = $1
