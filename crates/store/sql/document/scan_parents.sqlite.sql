-- All documents of one parent.
-- Differs from PostgreSQL: one parent per call; a statement costs no round trip here.
SELECT $2, id, own, version, access, settings, class, place FROM document WHERE job = $1 AND parent = $2
