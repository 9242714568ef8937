-- All keys, for people.
SELECT id, name, digest, roles, account_system, account_domain, account_name, created_at, expires_at, sources FROM api_key ORDER BY name
