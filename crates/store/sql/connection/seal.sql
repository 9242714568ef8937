-- The same settings with their secrets sealed.
UPDATE connection SET settings = $2 WHERE handle = $1
