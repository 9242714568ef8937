-- Another state of a group of people, as long as it is as it was looked at.
UPDATE person_group SET name = $3, name_key = $4, external_id = $5, body = $6, changed_at = $7, revision = revision + 1
WHERE authority = $1 AND id = $2 AND revision = $8
