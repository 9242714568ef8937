-- Groups of an authority, in the order of their ids.
SELECT id, name, external_id, CAST(1 AS BIGINT), body, revision, created_at, changed_at FROM person_group WHERE authority = $1 ORDER BY id LIMIT $2 OFFSET $3
