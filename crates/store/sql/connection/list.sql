-- All connections.
SELECT handle, role, kind, name, settings FROM connection ORDER BY role, name
