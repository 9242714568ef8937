-- Names of new documents.
-- Differs from SQLite: one statement per batch, lists as arrays.
INSERT INTO document_text (id, key_text) SELECT c1, c2 FROM {rows:bigint,text} WHERE true
