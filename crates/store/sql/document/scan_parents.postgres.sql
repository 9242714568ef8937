-- All documents of some parents.
-- Differs from SQLite: many parents per call, so that a page costs one round trip.
SELECT parent, id, own, version, access, settings, class, place FROM document WHERE job = $1 AND parent = ANY($2)
