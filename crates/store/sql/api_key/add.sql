-- A new key.
INSERT INTO api_key (id, name, digest, roles, account_system, account_domain, account_name, created_at, expires_at, sources)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
