-- A group of people goes, as long as it is as it was looked at.
DELETE FROM person_group WHERE authority = $1 AND id = $2 AND revision = $3
