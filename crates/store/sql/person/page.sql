-- People of an authority, in the order of their ids; where it is said, those alone who may enter, or may not.
SELECT id, name, external_id, active, body, revision, created_at, changed_at FROM person
WHERE authority = $1 AND (active = $2 OR $2 IS NULL) ORDER BY id LIMIT $3 OFFSET $4
