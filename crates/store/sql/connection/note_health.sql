-- Whether an output takes what it is sent. Since when counts from the first time that it is so.
UPDATE connection SET health = $2, health_why = $3, health_since = CASE WHEN health = $2 THEN health_since ELSE $4 END
WHERE handle = $1 AND (health <> $2 OR health_why <> $3)
