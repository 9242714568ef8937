-- Another state of a person, as long as they are as they were looked at.
UPDATE person SET name = $3, name_key = $4, external_id = $5, active = $6, body = $7, changed_at = $8, revision = revision + 1
WHERE authority = $1 AND id = $2 AND revision = $9
