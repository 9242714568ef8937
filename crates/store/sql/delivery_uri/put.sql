-- The address of a document where it is not derived from its key.
INSERT INTO delivery_uri (document, output, uri) SELECT c1, c2, c3 FROM {rows:bigint,bigint,text} WHERE true ON CONFLICT (document, output) DO UPDATE SET uri = excluded.uri
