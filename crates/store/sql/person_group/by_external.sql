-- The first groups of people that whoever pushes calls so.
SELECT id, name, external_id, CAST(1 AS BIGINT), body, revision, created_at, changed_at FROM person_group WHERE authority = $1 AND external_id = $2 ORDER BY id LIMIT $3
