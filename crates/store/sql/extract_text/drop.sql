-- Texts that no document has any more.
DELETE FROM extract_text WHERE digest IN any_of($1) AND NOT EXISTS (SELECT 1 FROM extract e WHERE e.digest = extract_text.digest)
