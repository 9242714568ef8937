-- A new person; none where somebody has the name, whom a transaction beside this one may be about to add.
INSERT INTO person (authority, id, name, name_key, external_id, active, body, revision, created_at, changed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $8) ON CONFLICT (authority, name_key) DO NOTHING
