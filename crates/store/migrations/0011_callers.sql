-- who may ask a service. digest: of the secret, which is random and long, and is not kept; roles: their words, with spaces between them.
-- account_*: whose access tokens count; empty: nobody's, so that only what is open to everybody is seen
CREATE TABLE api_key (id TEXT PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, roles TEXT NOT NULL,
  account_system TEXT NOT NULL, account_domain TEXT NOT NULL, account_name TEXT NOT NULL,
  created_at BIGINT NOT NULL, expires_at BIGINT) /*clustered*/;
CREATE UNIQUE INDEX api_key_name ON api_key (name);
-- changes that a service was asked for. outcome: begun, done, or the code of the problem
CREATE TABLE audit (number BIGINT PRIMARY KEY, at BIGINT NOT NULL, caller TEXT NOT NULL, operation TEXT NOT NULL, job TEXT NOT NULL,
  outcome TEXT NOT NULL) /*clustered*/;
