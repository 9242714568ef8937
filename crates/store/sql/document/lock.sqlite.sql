-- no move: keeps other transactions off these documents until this one ends
-- Differs from PostgreSQL: who writes is alone.
SELECT 0 WHERE false
