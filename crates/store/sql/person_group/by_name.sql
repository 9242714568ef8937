-- The first groups of people of this name, in its compared form.
SELECT id, name, external_id, CAST(1 AS BIGINT), body, revision, created_at, changed_at FROM person_group WHERE authority = $1 AND name_key = $2 ORDER BY id LIMIT $3
