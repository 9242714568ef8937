-- sources: a list of names, JSON: into these sources alone the key may push; none: into all
ALTER TABLE api_key ADD COLUMN sources TEXT;
