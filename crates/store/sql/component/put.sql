-- Names of components that are about to be sent.
INSERT INTO component (document, component, name, kept) SELECT c1, c2, c3, 0 FROM {rows:bigint,bigint,text} WHERE true ON CONFLICT (document, component) DO NOTHING
