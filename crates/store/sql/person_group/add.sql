-- A new group of people. Several may have one name.
INSERT INTO person_group (authority, id, name, name_key, external_id, body, revision, created_at, changed_at)
VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $7)
