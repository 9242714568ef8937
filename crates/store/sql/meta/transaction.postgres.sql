-- Which transaction this is.
-- Differs from SQLite, which has no others beside it that write.
SELECT pg_current_xact_id()::text
