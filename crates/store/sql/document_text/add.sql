-- Names of new documents.
INSERT INTO document_text (id, key_text) SELECT c1, c2 FROM {rows:bigint,text} WHERE true
