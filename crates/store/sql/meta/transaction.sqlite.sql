-- Which transaction this is.
-- Differs from PostgreSQL, where others may see the store as of before for as long as they like.
SELECT '1'
