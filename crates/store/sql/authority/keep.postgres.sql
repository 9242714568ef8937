-- The kind of an authority, which does not go until this transaction ends.
-- Differs from SQLite: there whoever writes is alone.
SELECT kind FROM connection WHERE role = 'authority' AND handle = $1 FOR KEY SHARE
