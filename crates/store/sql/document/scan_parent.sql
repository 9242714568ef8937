-- All documents of one parent, in key order.
SELECT id, own, version, access, settings, class, place FROM document WHERE job = $1 AND parent = $2 ORDER BY own
