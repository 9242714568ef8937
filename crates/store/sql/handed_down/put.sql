-- What a document hands down to another one, in place of what it handed down before.
INSERT INTO handed_down (child, parent, job, data) VALUES ($1, $2, $3, $4)
ON CONFLICT (child, parent) DO UPDATE SET data = excluded.data
