-- Whether nobody can see the store as it was before this transaction: what they could see is written anew with the rest.
-- Differs from SQLite, which has no others beside it that write. Transactions of all databases of the server count.
SELECT 1::bigint WHERE pg_snapshot_xmin(pg_current_snapshot()) > $1::text::xid8 AND NOT EXISTS (
  SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND age(backend_xmin) >= age(($1::text::xid8)::xid))
