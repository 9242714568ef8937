-- Which authorities there are, and when each was changed last.
SELECT handle, changed_at FROM connection WHERE role = 'authority' ORDER BY name
