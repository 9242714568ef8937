-- Keeps other transactions off these texts until this one ends.
-- Differs from PostgreSQL: who writes is alone.
SELECT 0 WHERE false
