-- Has a channel to itself.
-- Differs from PostgreSQL: because whoever writes is alone.
SELECT id FROM channel WHERE id = $1
