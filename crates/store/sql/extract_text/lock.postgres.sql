-- Keeps other transactions from bringing documents of these texts, and from letting go of them, until this one ends.
-- In the order of their digests, so that two of them do not wait for each other.
-- Differs from SQLite: other transactions may write meanwhile.
SELECT digest FROM extract_text WHERE digest IN any_of($1) ORDER BY digest FOR UPDATE
