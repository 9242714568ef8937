-- A person goes, as long as it is as it was looked at.
DELETE FROM person WHERE authority = $1 AND id = $2 AND revision = $3
