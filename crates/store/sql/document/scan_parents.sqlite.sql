-- All documents of one parent.
-- Differs from PostgreSQL: one parent per call; a statement costs no round trip here.
SELECT $2, id, key_hash, version, access, settings, acl, container FROM document WHERE job = $1 AND parent_hash = $2
