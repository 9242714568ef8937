-- All authorities.
SELECT handle, kind, name, settings, authority_group, asking, changed_at FROM connection WHERE role = 'authority' ORDER BY name
