-- The person of this id.
SELECT id, name, external_id, active, body, revision, created_at, changed_at FROM person WHERE authority = $1 AND id = $2
