-- The same of records as they were before channels pushed over them.
UPDATE record_before SET hash = NULL WHERE document IN any_of($1) AND hash IS NOT NULL
