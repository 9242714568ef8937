-- What was pushed of a record, in place of what was pushed before.
INSERT INTO record_content (document, about, content) VALUES ($1, $2, $3)
ON CONFLICT (document) DO UPDATE SET about = excluded.about, content = excluded.content
