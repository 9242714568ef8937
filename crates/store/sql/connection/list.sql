-- All connections.
SELECT handle, role, kind, name, settings, authority_group FROM connection ORDER BY role, name
