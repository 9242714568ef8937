-- The person of this id, which nobody else changes until this transaction ends.
-- Differs from PostgreSQL: whoever writes is alone.
SELECT id, name, external_id, active, body, revision, created_at, changed_at FROM person WHERE authority = $1 AND id = $2
