-- All documents of some parents.
-- Differs from SQLite: many parents per call, so that a page costs one round trip.
SELECT parent_hash, id, key_hash, version, access, settings, acl, container FROM document WHERE job = $1 AND parent_hash = ANY($2)
