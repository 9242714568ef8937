-- What a document leads to, in place of what it led to before.
INSERT INTO link (document, targets) VALUES ($1, $2) ON CONFLICT (document) DO UPDATE SET targets = excluded.targets
