-- Has a channel to itself.
-- Differs from SQLite: because others write at the same time.
SELECT id FROM channel WHERE id = $1 FOR UPDATE
