-- The group of people of this id.
SELECT id, name, external_id, CAST(1 AS BIGINT), body, revision, created_at, changed_at FROM person_group WHERE authority = $1 AND id = $2
