-- Sets one fact about the store, unless somebody was faster.
INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING
