-- The first people that whoever pushes calls so.
SELECT id, name, external_id, active, body, revision, created_at, changed_at FROM person WHERE authority = $1 AND external_id = $2 ORDER BY id LIMIT $3
