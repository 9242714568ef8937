-- What was pushed of records, in place of what was pushed before.
INSERT INTO record_content (document, about, content) SELECT c1, c2, c3 FROM {rows:bigint,text,bytea} WHERE true
ON CONFLICT (document) DO UPDATE SET about = excluded.about, content = excluded.content
