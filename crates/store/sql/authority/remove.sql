-- An authority is asked no more.
DELETE FROM connection WHERE role = 'authority' AND handle = $1
