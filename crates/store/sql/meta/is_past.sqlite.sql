-- Whether nobody can see the store as it was before this transaction.
-- Differs from PostgreSQL, where others may see the store as of before for as long as they like.
SELECT 1 WHERE $1 = $1
