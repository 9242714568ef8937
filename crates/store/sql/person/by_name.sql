-- The person of this name, in its compared form.
SELECT id, name, external_id, active, body, revision, created_at, changed_at FROM person WHERE authority = $1 AND name_key = $2 LIMIT $3
