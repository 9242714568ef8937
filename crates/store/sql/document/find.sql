-- One document by key.
SELECT id, own, version, access, settings, class, place FROM document WHERE job = $1 AND parent = $2 AND own = $3
