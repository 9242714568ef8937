-- Drops texts that no document has.
DELETE FROM extract_text WHERE NOT EXISTS (SELECT 1 FROM extract e WHERE e.digest = extract_text.digest)
