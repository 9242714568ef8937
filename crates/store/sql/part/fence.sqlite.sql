-- Whether this process still holds the part with this epoch.
-- Differs from PostgreSQL: there the row is locked against a take-over until the commit.
SELECT 1 FROM part WHERE number = $1 AND process = $2 AND epoch = $3
